//! Places at which the agent can be made to die.

use failpoint::Point;

/// Every place there is, in the order in which a pod's life comes by.
pub const POINTS: &[Point] = &[
    Point { name: "root-made", what: "a root directory is there, and nobody uses it" },
    Point { name: "program-laid", what: "the holder's program is there, and nothing is swept" },
    Point { name: "sweep-renamed", what: "what a crash left is out of sight and not gone" },
    Point { name: "pod-begin", what: "nothing of a pod is there yet" },
    Point { name: "pod-directory", what: "a pod has a directory and no record" },
    Point { name: "pod-recorded", what: "a pod has its record" },
    Point { name: "container-begin", what: "a container was judged and nothing of it is there" },
    Point { name: "container-directory", what: "a container has a directory and no record" },
    Point { name: "container-recorded", what: "a container has its record and is not started" },
    Point { name: "start-recorded", what: "a container is about to start, by its record" },
    Point { name: "job-noted", what: "a job is in the journal and nowhere else" },
    Point { name: "user-noted", what: "a temporary user is in the journal and nowhere else" },
    Point { name: "user-made", what: "a temporary user is there" },
    Point { name: "termination-made", what: "a container has a file for its last words" },
    Point { name: "mount-point-noted", what: "a mount point is in the journal and nowhere else" },
    Point { name: "mount-point-made", what: "a mount point is there" },
    Point { name: "scratch-made", what: "a container's image is prepared" },
    Point { name: "source-made", what: "what is to be mounted and was not there is made" },
    Point { name: "link-noted", what: "a link into a volume is in the journal and nowhere else" },
    Point { name: "link-made", what: "a volume is linked" },
    Point { name: "holder-noted", what: "a holder is in the journal and does not run" },
    Point { name: "holder-started", what: "a holder runs and holds nothing" },
    Point { name: "launch", what: "everything is ready and the holder is not told" },
    Point { name: "launched", what: "a container runs and nobody but its holder knows" },
    Point { name: "limits-told", what: "a container has new limits, and its record the old ones" },
    Point { name: "exit-seen", what: "a container ended and its record says that it runs" },
    Point { name: "exit-recorded", what: "a container's end is in its record and nothing is cleaned up" },
    Point {
        name: "scratch-removed",
        what: "what an ended container wrote is gone, what was done to the host not",
    },
    Point { name: "effect-undone", what: "one effect was taken back, and the journal still lists it" },
    Point { name: "journal-removed", what: "everything that was done for a container was taken back" },
    Point { name: "container-renamed", what: "a removed container's directory is out of sight and not gone" },
    Point { name: "container-removed", what: "a container is gone" },
    Point { name: "pod-stopped", what: "a pod's record says that it is stopped, and its holder is there" },
    Point { name: "holder-gone", what: "a pod's holder is gone and its directory is there" },
    Point { name: "pod-renamed", what: "a removed pod's directory is out of sight and not gone" },
    Point { name: "pod-removed", what: "a pod is gone and its images are kept for it" },
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
