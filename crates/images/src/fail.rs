//! Places at which a process can be made to die, so that tests can look at what it leaves.
//!
//! `PORTHOLE_FAIL_POINT=layer-noted:3` ends the process, without any clean-up, when it comes by that place for the
//! third time. Only in debug builds: a release build has not even the names.

/// A place where a crash would leave something half done.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    pub what: &'static str,
}

pub const VARIABLE: &str = "PORTHOLE_FAIL_POINT";

/// Every place there is, in the order in which a pull and then a removal come by.
pub const POINTS: &[Point] = &[
    Point { name: "lease-locked", what: "a lease is locked and names nothing yet" },
    Point { name: "lease-written", what: "a lease names what a pull needs" },
    Point { name: "flight-taken", what: "a blob, layer or image is ours to make" },
    Point { name: "blob-part", what: "a part of a blob is written" },
    Point { name: "blob-synced", what: "a blob is whole and on the disk, without its name" },
    Point { name: "blob-committed", what: "a blob has its name" },
    Point { name: "layer-begun", what: "there is a place for a layer or a flat image" },
    Point { name: "layer-noted", what: "a layer is whole, without its name" },
    Point { name: "layer-committed", what: "a layer has its name" },
    Point { name: "layers-settled", what: "layers are on the disk and not yet marked so" },
    Point { name: "record-written", what: "an image has its record" },
    Point { name: "name-written", what: "a name leads to an image" },
    Point { name: "pinned", what: "a container uses an image" },
    Point { name: "names-removed", what: "an image to be removed has lost its names" },
    Point { name: "record-removed", what: "a removed image's parts lie about" },
    Point { name: "part-discarded", what: "a part of a removed image is in the trash" },
    Point { name: "trash-filled", what: "all parts of removed images are in the trash" },
];

/// Dies here if the environment says so.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: LazyLock<Option<(String, u64)>> =
        LazyLock::new(|| std::env::var(VARIABLE).ok().map(|text| parse(&text)));
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

/// `name` or `name:n`, the n-th time that it is passed.
#[cfg(any(debug_assertions, test))]
fn parse(text: &str) -> (String, u64) {
    let (name, times) = text.split_once(':').unwrap_or((text, "1"));
    (name.to_owned(), times.parse().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_and_counted() {
        assert_eq!(parse("blob-part"), ("blob-part".to_owned(), 1));
        assert_eq!(parse("blob-part:7"), ("blob-part".to_owned(), 7));
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
