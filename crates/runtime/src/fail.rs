//! Places at which the agent can be made to die, so that tests can look at what it leaves.
//!
//! `PORTHOLE_FAIL=container-recorded=abort` ends the process, without any clean-up, when it comes by that place;
//! `container-recorded=abort:3` when it does so for the third time. Only in debug builds: a release build has not
//! even the names.

/// A place where a crash would leave something half done.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    pub what: &'static str,
}

pub const VARIABLE: &str = "PORTHOLE_FAIL";

/// Every place there is, in the order in which a pod's life comes by.
pub const POINTS: &[Point] = &[
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
    Point { name: "mount-point-noted", what: "a mount point is in the journal and nowhere else" },
    Point { name: "mount-point-made", what: "a mount point is there" },
    Point { name: "scratch-made", what: "a container's image is prepared" },
    Point { name: "link-noted", what: "a link into a volume is in the journal and nowhere else" },
    Point { name: "link-made", what: "a volume is linked" },
    Point { name: "holder-noted", what: "a holder is in the journal and does not run" },
    Point { name: "holder-started", what: "a holder runs and holds nothing" },
    Point { name: "launch", what: "everything is ready and the holder is not told" },
    Point { name: "launched", what: "a container runs and nobody but its holder knows" },
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
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: LazyLock<Option<(String, u64)>> =
        LazyLock::new(|| std::env::var(VARIABLE).ok().and_then(|text| parse(&text)));
    static PASSED: AtomicU64 = AtomicU64::new(0);

    debug_assert!(POINTS.iter().any(|known| known.name == name), "fail point {name} is not in the table");
    if let Some((wanted, times)) = &*WANTED
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        std::process::abort();
    }
}

#[cfg(not(debug_assertions))]
pub fn point(_name: &str) {}

/// `NAME=abort` or `NAME=abort:N`, the n-th time that it is passed. Anything else may be meant for another program.
#[cfg(any(debug_assertions, test))]
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
    fn a_point_is_named_counted_and_told_what_to_do() {
        assert_eq!(parse("launch=abort"), Some(("launch".to_owned(), 1)));
        assert_eq!(parse("launch=abort:7"), Some(("launch".to_owned(), 7)));
        for wrong in ["launch", "launch=panic", "launch=abort:x", ""] {
            assert_eq!(parse(wrong), None, "{wrong}");
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
