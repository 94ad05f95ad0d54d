//! What was done to the host for a pod or a container, written down before it is done, so that it can be undone.
//!
//! A pod has a journal for what serves all its containers, and each container one for its own: what was done for a
//! container goes when it ends, however long its pod lives, and no journal grows with restarts.
//!
//! One line per effect: a checksum, a space, JSON. A crash can tear only the last line, and an effect whose
//! line is torn never happened, because the line comes first. After a power cut there may be anything in place of the
//! lines that were not synced, which are the last ones as a sync takes all before it along: what has no good line after
//! it counts as torn. Undoing is safe to repeat.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use os::channel::Endpoint;
use os::job::JobName;
use serde::{Deserialize, Serialize};

/// Something on the host that a removal must take back. Files inside the pod's own directory are not listed: they go
/// with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    Holder {
        endpoint: Endpoint,
    },
    Job(JobName),
    /// Made as a mount point or as the way to one; goes if it is empty.
    Directory {
        path: PathBuf,
    },
    /// An empty file, made as a mount point.
    File {
        path: PathBuf,
    },
    /// A link inside a volume.
    Link {
        path: PathBuf,
    },
    /// A container's image where other programs see it; goes with everything in it.
    Tree {
        path: PathBuf,
    },
    /// A temporary user.
    User {
        name: String,
    },
}

/// Opened for each line: an open file would keep the pod's directory from being removed on Windows.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("journal {path}")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "journal {path}, line {line}: the checksum does not fit: the file was changed or the disk is failing"
    )]
    Damaged { path: PathBuf, line: usize },
}

// === impl Journal ===

impl Journal {
    /// Opens the journal for more effects. A line that a crash tore off is cut away first.
    pub fn open(path: &Path) -> Result<Journal, JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        let (_, good) = read_lines(path)?;
        let file = File::options().write(true).create(true).truncate(false).open(path).map_err(failed)?;
        file.set_len(good).map_err(failed)?;
        Ok(Journal { path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the effect down. Only after this may it be done.
    pub fn record(&mut self, effect: &Effect) -> Result<(), JournalError> {
        let written = line(effect).and_then(|line| {
            let mut file = File::options().append(true).open(&self.path)?;
            file.write_all(line.as_bytes())?;
            // Processes do not outlive a power cut; everything else does, and its line must too.
            if effect.outlives_the_machine() { file.sync_data() } else { Ok(()) }
        });
        written.map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }

    /// Every effect, in the order it was written. A journal that is not there has none.
    pub fn read(path: &Path) -> Result<Vec<Effect>, JournalError> {
        Ok(read_lines(path)?.0)
    }
}

// === impl Effect ===

impl Effect {
    fn outlives_the_machine(&self) -> bool {
        !matches!(self, Effect::Holder { .. } | Effect::Job(_))
    }
}

fn line(effect: &Effect) -> io::Result<String> {
    let json = serde_json::to_string(effect)?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

/// The effects and the length of the part that is whole.
fn read_lines(path: &Path) -> Result<(Vec<Effect>, u64), JournalError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(source) => return Err(JournalError::Io { path: path.to_owned(), source }),
    };
    let mut effects = Vec::new();
    let mut good = 0;
    let lines: Vec<_> = text.split_inclusive(|b| *b == b'\n').collect();
    for (number, line) in lines.iter().enumerate() {
        match parse(line) {
            Some(effect) => effects.push(effect),
            None if lines[number + 1..].iter().all(|line| parse(line).is_none()) => break,
            None => return Err(JournalError::Damaged { path: path.to_owned(), line: number + 1 }),
        }
        good += line.len() as u64;
    }
    Ok((effects, good))
}

fn parse(line: &[u8]) -> Option<Effect> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (sum, json) = line.split_once(' ')?;
    (u32::from_str_radix(sum, 16).ok()? == crc32fast::hash(json.as_bytes())).then_some(())?;
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str) -> Effect {
        Effect::Job(JobName { parent: "p".into(), id: id.into() })
    }

    fn journal() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let mut journal = Journal::open(&path).unwrap();
        journal.record(&job("one")).unwrap();
        journal.record(&job("two")).unwrap();
        (dir, path)
    }

    #[test]
    fn effects_come_back_in_order() {
        let (dir, path) = journal();
        assert_eq!(Journal::read(&path).unwrap(), [job("one"), job("two")]);
        assert_eq!(Journal::read(&dir.path().join("none")).unwrap(), []);
    }

    #[test]
    fn every_kind_of_effect_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let at = |name: &str| PathBuf::from(format!("/mnt/{name}"));
        let all = [
            Effect::Directory { path: at("d") },
            Effect::File { path: at("f") },
            Effect::Link { path: at("l") },
            Effect::Tree { path: at("t") },
            Effect::User { name: "u".into() },
        ];
        let mut journal = Journal::open(&path).unwrap();
        all.iter().for_each(|effect| journal.record(effect).unwrap());
        assert_eq!(Journal::read(&path).unwrap(), all);
    }

    #[test]
    fn every_tear_in_the_last_line_loses_only_that_line() {
        let (_dir, path) = journal();
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(Journal::read(&path).unwrap(), [job("one")], "{cut}");
            let mut journal = Journal::open(&path).unwrap();
            journal.record(&job("three")).unwrap();
            assert_eq!(Journal::read(&path).unwrap(), [job("one"), job("three")], "{cut}");
        }
    }

    #[test]
    fn whatever_a_power_cut_put_in_place_of_the_last_lines_is_cut_off() {
        let (_dir, path) = journal();
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for rest in [vec![0; 200], b"old text\nof others\nand more".to_vec()] {
            for kept in [0, first] {
                std::fs::write(&path, [&whole[..kept], &rest].concat()).unwrap();
                let good: Vec<_> = if kept == 0 { vec![] } else { vec![job("one")] };
                assert_eq!(Journal::read(&path).unwrap(), good);
                Journal::open(&path).unwrap().record(&job("next")).unwrap();
                assert_eq!(Journal::read(&path).unwrap(), [good, vec![job("next")]].concat());
            }
        }
    }

    #[test]
    fn damage_in_the_middle_is_not_overlooked() {
        let (_dir, path) = journal();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[12] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let error = Journal::read(&path).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line: 1, .. }), "{error}");
        assert!(Journal::open(&path).is_err());
    }
}
