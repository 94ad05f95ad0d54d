//! A container's last words: from its own file, or the end of its log.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use holder::exit::ExitRecord;
use holder::log::Entry;

use crate::config::TerminationPolicy;
use crate::layout::ContainerDir;
use crate::record::ContainerRecord;

/// As long as a kubelet takes from a file.
const LONGEST: u64 = 4096;
/// As much as a kubelet takes from a log.
const LINES: usize = 80;
const FROM_LOG: usize = 2048;
/// Time, stream and tag stand before each text, so that much more of a log is looked at than is taken.
const TAIL: u64 = 64 * 1024;

/// What to tell of the end, if the container was asked to leave something.
pub(super) fn message(record: &ContainerRecord, dir: &ContainerDir, exit: &ExitRecord) -> Option<String> {
    let termination = record.config.termination.as_ref()?;
    let said = last_words(&dir.termination()).unwrap_or_default();
    if !said.is_empty() {
        return Some(said);
    }
    let from_log = termination.policy == TerminationPolicy::FallbackToLogsOnError && exit.code != 0;
    let tail = if from_log { tail(&record.log).unwrap_or_default() } else { String::new() };
    (!tail.is_empty()).then_some(tail)
}

/// The container's account may have put anything there: a link is not followed, and only so much is read.
fn last_words(path: &Path) -> io::Result<String> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn tail(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for entry in bytes.split_inclusive(|b| *b == b'\n').filter_map(|line| Entry::parse(line).ok()) {
        let mut text = entry.text.to_vec();
        if !entry.partial {
            text.push(b'\n');
        }
        texts.push(text);
    }
    let from = texts.len().saturating_sub(LINES);
    let text = texts[from..].concat();
    let text = &text[text.len().saturating_sub(FROM_LOG)..];
    Ok(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_by_lines_and_by_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let lines: String = (0..200).map(|i| format!("t stdout F line {i}\n")).collect();
        std::fs::write(&path, &lines).unwrap();
        let end = tail(&path).unwrap();
        assert_eq!((end.lines().count(), end.lines().next()), (80, Some("line 120")));
        std::fs::write(&path, format!("t stdout P {}\nt stderr F b\n", "a".repeat(5000))).unwrap();
        let end = tail(&path).unwrap();
        assert_eq!(end.len(), FROM_LOG);
        assert!(end.ends_with("ab\n"), "{end}");
        assert!(tail(&dir.path().join("none")).is_err());
    }

    #[test]
    fn last_words_are_cut_and_a_link_is_nobodys_words() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("termination");
        std::fs::write(&path, "x".repeat(5000)).unwrap();
        assert_eq!(last_words(&path).unwrap().len(), 4096);
        let parent = os::tree::Dir::open(dir.path()).unwrap();
        parent.symlink("link".as_ref(), path.as_os_str(), false).unwrap();
        assert_eq!(last_words(&dir.path().join("link")).unwrap(), "");
    }
}
