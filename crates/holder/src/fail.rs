//! Places at which a holder can be made to die. Debug builds of porthole embed one that has them.

use failpoint::Point;

/// Every place there is, in the order in which a container comes by.
pub const POINTS: &[Point] = &[
    Point { name: "hold-listening", what: "a holder can be reached and has not said so" },
    Point { name: "hold-log-open", what: "a container is to start and has nothing yet" },
    Point { name: "hold-log-opened", what: "a container has its log" },
    Point { name: "hold-job-create", what: "the job of a container is about to be made" },
    Point { name: "hold-job-created", what: "a container has its job, empty and without limits" },
    Point { name: "hold-spawn", what: "a job has its limits and no process" },
    Point { name: "hold-spawned", what: "init runs, and nobody watches it" },
    Point { name: "hold-exec-spawn", what: "a process is to start beside init" },
    Point { name: "hold-exec-spawned", what: "a process runs beside init, and nobody watches it" },
    Point { name: "hold-attached", what: "somebody listens to a container and has not been told" },
    Point { name: "hold-limits-set", what: "a container has new limits, and nobody has been told" },
    Point { name: "hold-log-reopened", what: "a log goes on in a new file, and nobody has been told" },
    Point { name: "hold-rotate", what: "a log is full and has its name" },
    Point { name: "hold-rotated", what: "a log that was full has another name, and none follows it yet" },
    Point { name: "hold-stop-asked", what: "init was asked to end, and who asked for it has not been told" },
    Point { name: "hold-killed", what: "the job of a container was killed, and nobody has seen its end" },
    Point { name: "hold-exit-write", what: "a container has ended, which is written nowhere" },
    Point { name: "hold-exit-written", what: "the end of a container is on disk, and nobody has been told" },
    Point { name: "hold-job-close", what: "the end is told and the empty job is still there" },
    Point { name: "hold-job-closed", what: "the job of a container that ended is gone" },
    Point { name: "hold-leaving", what: "a holder was told to go and has not answered" },
];

/// Dies here if the environment says so.
pub fn point(name: &str) {
    failpoint::pass(POINTS, name);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::POINTS;

    #[test]
    fn every_point_of_the_table_is_somewhere_in_the_code() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(failpoint::unpassed(POINTS, &sources).unwrap(), [""; 0]);
    }
}
