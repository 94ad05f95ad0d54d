//! Places at which a program can be made to die, so that tests can look at what it leaves.
//!
//! `PORTHOLE_FAIL=layer-noted=abort` ends the process, without any clean-up, when it comes by that place;
//! `layer-noted=abort:3` when it does so for the third time. Only with debug assertions or the feature `failpoints`:
//! a released program has not even the names. Each crate that has such places keeps a table of them.

use std::io;
use std::path::Path;

/// A place where a crash would leave something half done.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    pub what: &'static str,
}

pub const VARIABLE: &str = "PORTHOLE_FAIL";

/// Dies here if the environment says so.
#[cfg(any(debug_assertions, feature = "failpoints"))]
pub fn pass(table: &[Point], name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    debug_assert!(table.iter().any(|known| known.name == name), "fail point {name} is not in the table");
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok().and_then(|text| parse(&text)));
    if let Some((wanted, times)) = wanted
        && wanted == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *times
    {
        std::process::abort();
    }
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
pub fn pass(_table: &[Point], _name: &str) {}

/// What [`VARIABLE`] is set to for a death at the `times`-th passing.
pub fn setting(name: &str, times: u64) -> String {
    if times == 1 { format!("{name}=abort") } else { format!("{name}=abort:{times}") }
}

/// Anything else than a setting may be meant for another program.
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

/// The points that no source below this directory passes: each would be a test that cannot fail.
pub fn unpassed(table: &[Point], sources: &Path) -> io::Result<Vec<&'static str>> {
    let mut text = String::new();
    read_all(sources, &mut text)?;
    let passed = |point: &&Point| text.contains(&format!("fail::point(\"{}\")", point.name));
    Ok(table.iter().filter(|point| !passed(point)).map(|point| point.name).collect())
}

fn read_all(dir: &Path, text: &mut String) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(&path, text)?;
        } else {
            text.push_str(&std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_and_counted() {
        for times in [1, 7] {
            assert_eq!(parse(&setting("launch", times)), Some(("launch".to_owned(), times)));
        }
        assert_eq!(setting("launch", 1), "launch=abort");
        for other in ["launch", "launch=panic", "launch=abort:x", ""] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_point_that_nothing_passes_is_found() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("below")).unwrap();
        std::fs::write(dir.path().join("below/a.rs"), "fail::point(\"there\");").unwrap();
        let table = ["there", "nowhere"].map(|name| Point { name, what: "" });
        assert_eq!(unpassed(&table, dir.path()).unwrap(), ["nowhere"]);
    }
}
