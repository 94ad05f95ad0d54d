//! Places at which a program can be made to die, so that tests can look at what it leaves.
//!
//! `PORTHOLE_FAIL=layer-noted=abort` ends the process, without any clean-up, when it comes by that place;
//! `layer-noted=abort:3` when it does so for the third time, and `layer-noted=abort@FILE` only if it is the one who makes
//! FILE: of several processes that inherit the setting one dies, once. `PORTHOLE_FAIL_TRACE=FILE` notes each place as
//! it is passed. Only with debug assertions or the feature `failpoints`: a released program has not even the names. Each
//! crate that has such places keeps a table of them.

#[cfg(any(debug_assertions, feature = "failpoints"))]
use std::fs::File;
use std::io;
use std::path::Path;
#[cfg(any(debug_assertions, feature = "failpoints", test))]
use std::path::PathBuf;

/// A place where a crash would leave something half done.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub name: &'static str,
    pub what: &'static str,
}

pub const VARIABLE: &str = "PORTHOLE_FAIL";

/// A file to which each process adds a line, `PID NAME`, for each point that it passes.
pub const TRACE: &str = "PORTHOLE_FAIL_TRACE";

/// Who is to die where.
#[cfg(any(debug_assertions, feature = "failpoints", test))]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wanted {
    name: String,
    times: u64,
    /// Whoever makes this file dies; who finds it made lives on.
    once: Option<PathBuf>,
}

/// Dies here if the environment says so.
#[cfg(any(debug_assertions, feature = "failpoints"))]
pub fn pass(table: &[Point], name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static WANTED: OnceLock<Option<Wanted>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);

    debug_assert!(table.iter().any(|known| known.name == name), "fail point {name} is not in the table");
    trace(name);
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok().and_then(|text| parse(&text)));
    if let Some(wanted) = wanted
        && wanted.name == name
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == wanted.times
        && wanted.once.as_ref().is_none_or(|file| File::create_new(file).is_ok())
    {
        std::process::abort();
    }
}

#[cfg(not(any(debug_assertions, feature = "failpoints")))]
pub fn pass(_table: &[Point], _name: &str) {}

#[cfg(any(debug_assertions, feature = "failpoints"))]
fn trace(name: &str) {
    use std::io::Write;

    static FILE: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    let Some(path) = FILE.get_or_init(|| std::env::var_os(TRACE).map(PathBuf::from)) else { return };
    let line = format!("{} {name}\n", std::process::id());
    // A test that misses the line fails; the program under test does not.
    drop(
        File::options().append(true).create(true).open(path).and_then(|mut it| it.write_all(line.as_bytes())),
    );
}

/// What [`VARIABLE`] is set to for a death at the `times`-th passing.
pub fn setting(name: &str, times: u64) -> String {
    if times == 1 { format!("{name}=abort") } else { format!("{name}=abort:{times}") }
}

/// As [`setting`], for one death among all processes that inherit it: `file` is there once it has happened.
pub fn setting_once(name: &str, times: u64, file: &Path) -> String {
    format!("{}@{}", setting(name, times), file.display())
}

/// Anything else than a setting may be meant for another program.
#[cfg(any(debug_assertions, feature = "failpoints", test))]
fn parse(text: &str) -> Option<Wanted> {
    let (name, what) = text.split_once('=')?;
    let (what, once) = match what.split_once('@') {
        Some((what, file)) => (what, Some(PathBuf::from(file))),
        None => (what, None),
    };
    let times = match what.split_once(':') {
        None if what == "abort" => 1,
        Some(("abort", times)) => times.parse().ok()?,
        _ => return None,
    };
    Some(Wanted { name: name.to_owned(), times, once })
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
            let name = "launch".to_owned();
            let wanted = Wanted { name, times, once: None };
            assert_eq!(parse(&setting("launch", times)).as_ref(), Some(&wanted));
            let once = setting_once("launch", times, Path::new("/t/a=b@c"));
            assert_eq!(parse(&once), Some(Wanted { once: Some("/t/a=b@c".into()), ..wanted }));
        }
        assert_eq!(setting("launch", 1), "launch=abort");
        for other in ["launch", "launch=panic", "launch=abort:x", "launch=abortive@/f", ""] {
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
