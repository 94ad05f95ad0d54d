//! Places at which a holder can be made to die, so that tests can look at what it leaves.
//!
//! `PORTHOLE_FAIL=hold-spawned=abort` ends the holder, without any clean-up, when it comes by that place;
//! `hold-spawned=abort:3` when it does so for the third time. Only with debug assertions or the feature
//! `failpoints`, which debug builds of porthole embed: a released holder has not even the names.

/// A place where a crash would leave something half done.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    pub what: &'static str,
}

pub const VARIABLE: &str = "PORTHOLE_FAIL";

/// Every place there is, in the order in which a container comes by.
pub const POINTS: &[Point] = &[
    Point { name: "hold-log-open", what: "a container is to start and has nothing yet" },
    Point { name: "hold-log-opened", what: "a container has its log" },
    Point { name: "hold-job-create", what: "the job of a container is about to be made" },
    Point { name: "hold-job-created", what: "a container has its job, empty and without limits" },
    Point { name: "hold-spawn", what: "a job has its limits and no process" },
    Point { name: "hold-spawned", what: "init runs, and nobody watches it" },
    Point { name: "hold-exec-spawn", what: "a process is to start beside init" },
    Point { name: "hold-exec-spawned", what: "a process runs beside init, and nobody watches it" },
    Point { name: "hold-rotate", what: "a log is full and has its name" },
    Point { name: "hold-rotated", what: "a log that was full has another name, and none follows it yet" },
    Point { name: "hold-exit-write", what: "a container has ended, which is written nowhere" },
    Point { name: "hold-exit-written", what: "the end of a container is on disk, and nobody has been told" },
    Point { name: "hold-job-close", what: "the end is told and the empty job is still there" },
    Point { name: "hold-job-closed", what: "the job of a container that ended is gone" },
];

/// Dies here if the environment says so.
#[cfg(any(debug_assertions, feature = "failpoints"))]
pub fn point(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    debug_assert!(POINTS.iter().any(|known| known.name == name), "fail point {name} is not in the table");
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok().and_then(|text| parse(&text)));
    if let Some((wanted, times)) = wanted
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        std::process::abort();
    }
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
pub fn point(_name: &str) {}

/// `NAME=abort` or `NAME=abort:N`, the n-th time that it is passed. Anything else may be meant for another program.
#[cfg(any(debug_assertions, feature = "failpoints", test))]
fn parse(text: &str) -> Option<(String, u64)> {
    let (name, what) = text.split_once('=')?;
    let times = match what.split_once(':') {
        None if what == "abort" => 1,
        Some(("abort", times)) => times.parse().ok()?,
        _ => return None,
    };
    Some((name.to_owned(), times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_and_counted() {
        assert_eq!(parse("hold-spawn=abort"), Some(("hold-spawn".to_owned(), 1)));
        assert_eq!(parse("hold-spawn=abort:7"), Some(("hold-spawn".to_owned(), 7)));
        for other in ["hold-spawn", "hold-spawn=sleep", "hold-spawn=abort:x", ""] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    fn sources(dir: &std::path::Path, found: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push_str(&std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    /// A point that nothing passes is a test that cannot fail.
    #[test]
    fn every_point_of_the_table_is_somewhere_in_the_code() {
        let mut text = String::new();
        sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut text);
        for point in POINTS {
            assert!(text.contains(&format!("fail::point(\"{}\")", point.name)), "{}", point.name);
        }
    }
}
