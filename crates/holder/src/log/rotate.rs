//! The files that one log consists of: the one that is written, and those that were.
//!
//! A full log is renamed to `<log>.<day>-<time>`, as a kubelet names it, with nanoseconds so that two in one second
//! differ. Names sort by age, and nothing else is ever renamed: a reader that knows one file finds the next.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::{clock, fail};

/// The files of a log, oldest first and the one that is written last. Those that are not there are not named.
pub fn files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut before = all(log)?;
    loop {
        // A name that changes while a directory is read may be missed; one that is missed twice is not there.
        let again = all(log)?;
        if again == before {
            return Ok(again);
        }
        before = again;
    }
}

fn all(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = set_aside_before(log)?;
    if log.exists() {
        files.push(log.to_owned());
    }
    Ok(files)
}

/// Renames the log and removes the oldest files, so that with a new one there are at most `keep`, and at least the new.
pub(super) fn set_aside(log: &Path, keep: u32) -> io::Result<()> {
    let before = set_aside_before(log)?;
    fail::point("hold-rotate");
    match os::file::rename(log, &next_name(log, before.last())) {
        // Somebody else took it away, or a new one could not be opened the last time.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        renamed => renamed?,
    }
    fail::point("hold-rotated");
    let aside = set_aside_before(log)?;
    let spare = usize::try_from(keep.max(1) - 1).unwrap_or(usize::MAX);
    for old in aside.iter().take(aside.len().saturating_sub(spare)) {
        os::file::remove(old)?;
    }
    Ok(())
}

fn set_aside_before(log: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(dir), Some(name)) = (log.parent(), log.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("not a log: {}", log.display())));
    };
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for entry in entries {
        let entry = entry?.file_name();
        if is_of(name, &entry) {
            found.push(dir.join(entry));
        }
    }
    found.sort();
    Ok(found)
}

/// `0.log.20261115-134255` and what may follow. What a kubelet compressed (`.gz`) cannot be read here.
fn is_of(log: &OsStr, name: &OsStr) -> bool {
    let (Some(log), Some(name)) = (log.to_str(), name.to_str()) else { return false };
    let Some(rest) = name.strip_prefix(log).and_then(|rest| rest.strip_prefix('.')) else { return false };
    let mut bytes = rest.bytes();
    let day = bytes.by_ref().take(8).filter(u8::is_ascii_digit).count();
    day == 8 && bytes.next() == Some(b'-') && bytes.all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'+'))
}

/// After every other one, even if the clock was set back.
fn next_name(log: &Path, newest: Option<&PathBuf>) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".");
    name.push(stamp(&clock::now()));
    match newest {
        Some(newest) if newest.as_os_str() >= name.as_os_str() => {
            let mut after = newest.as_os_str().to_owned();
            after.push("+");
            after.into()
        }
        _ => name.into(),
    }
}

/// `2026-11-15T13:42:55.000000007Z` as `20261115-134255.000000007`.
fn stamp(time: &str) -> String {
    time.chars().filter(|c| !matches!(c, '-' | ':' | 'Z')).map(|c| if c == 'T' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(dir: &Path, names: &[&str]) {
        for name in names {
            std::fs::write(dir.join(name), name).unwrap();
        }
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn only_the_files_of_this_log_count_and_the_oldest_is_first() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("0.log");
        assert_eq!(files(&log).unwrap(), [""; 0].map(PathBuf::from));
        touch(dir.path(), &["0.log.20261115-134255.5", "0.log", "0.log.20261115-134255", "1.log", "10.log"]);
        touch(dir.path(), &["0.log.gz", "0.log.20261114-000000.gz", "0.log.20261114", "0.log.2026111x-1"]);
        touch(dir.path(), &["1.log.20261115-134255", "0.log.20261115-134255.tmp"]);
        assert_eq!(
            names(&files(&log).unwrap()),
            ["0.log.20261115-134255", "0.log.20261115-134255.5", "0.log"]
        );
        assert!(files(Path::new("/")).is_err());
        assert_eq!(files(&dir.path().join("none/0.log")).unwrap(), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn so_many_are_kept_and_the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("0.log");
        for round in 0..5 {
            std::fs::write(&log, format!("{round}")).unwrap();
            set_aside(&log, 3).unwrap();
            assert!(!log.exists());
        }
        let kept = files(&log).unwrap();
        let texts: Vec<_> = kept.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        assert_eq!(texts, ["3", "4"]);
        // Of one file, only the one that is written is left.
        set_aside(&log, 1).unwrap();
        assert_eq!(files(&log).unwrap().len(), 0);
        set_aside(&log, 0).unwrap();
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_mix_up_the_order() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("0.log");
        touch(dir.path(), &["0.log.29991231-235959.000000000"]);
        for text in ["one", "two"] {
            std::fs::write(&log, text).unwrap();
            set_aside(&log, 9).unwrap();
        }
        let texts: Vec<_> =
            files(&log).unwrap().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        assert_eq!(texts[1..], ["one", "two"]);
    }

    #[test]
    fn the_name_is_the_moment() {
        assert_eq!(stamp("2026-11-15T13:42:55.000000007Z"), "20261115-134255.000000007");
    }
}
