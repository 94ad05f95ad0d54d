//! From directory to directory at the end of a layer. Those that follow each other share most of their way, which is
//! gone once: the walk from the root for each of them was a tenth of unpacking small files.

use std::io;

use os::tree::{Attributes, Child, Dir, Refused};

/// So many directories, one in the other, stay open; what lies deeper is opened each time.
const KEPT: usize = 32;

/// The directories from the root to the last one that was set. None of them was replaced since it was seen, so all
/// are real.
pub(super) struct Trail<'r> {
    root: &'r Dir,
    /// With the path of each, ended by a slash.
    open: Vec<(Vec<u8>, Dir)>,
}

// === impl Trail ===

impl<'r> Trail<'r> {
    pub(super) fn new(root: &'r Dir) -> Trail<'r> {
        Trail { root, open: Vec::new() }
    }

    /// Gives the directory of this path its attributes.
    pub(super) fn set(&mut self, path: &[u8], attributes: &Attributes) -> io::Result<Refused> {
        while self.open.last().is_some_and(|(known, _)| !path.starts_with(known)) {
            self.open.pop();
        }
        let mut at = self.open.last().map_or(0, |(known, _)| known.len());
        let mut deep: Option<Dir> = None;
        while let Some(length) = path[at..].iter().position(|byte| *byte == b'/') {
            let here = deep.as_ref().unwrap_or_else(|| self.last());
            let dir = child(here, &path[at..at + length])?;
            at += length + 1;
            if self.open.len() < KEPT {
                self.open.push((path[..at].to_vec(), dir));
            } else {
                deep = Some(dir);
            }
        }
        deep.as_ref().unwrap_or_else(|| self.last()).set(attributes)
    }

    fn last(&self) -> &Dir {
        self.open.last().map_or(self.root, |(_, dir)| dir)
    }
}

fn child(here: &Dir, part: &[u8]) -> io::Result<Dir> {
    let name = os::tree::name(part).ok_or(io::ErrorKind::InvalidInput)?;
    match here.child(&name)? {
        Child::Directory(dir) => Ok(dir),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

#[cfg(test)]
mod tests {
    use os::tree::Time;

    use super::*;

    /// Deeper than what stays open, aside and back: each gets its own.
    #[test]
    fn every_directory_gets_its_own_time() {
        let dir = tempfile::tempdir().unwrap();
        let deep: String = (0..KEPT + 3).map(|level| format!("d{level}/")).collect();
        let paths = ["x/y/", "x/yy/", "x/", &deep, "d0/d1/", "d0/", ""];
        for path in paths {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        let root = Dir::open(dir.path()).unwrap();
        let mut trail = Trail::new(&root);
        let time = |at: usize| Time { seconds: i64::try_from(at).unwrap() * 1000, nanos: 0 };
        for (at, path) in paths.iter().enumerate() {
            let wanted = Attributes { modified: Some(time(at)), ..Attributes::default() };
            assert!(trail.set(path.as_bytes(), &wanted).unwrap().is_empty());
        }
        for (at, path) in paths.iter().enumerate() {
            let found = Dir::open(&dir.path().join(path)).unwrap().found().modified;
            assert_eq!(found, Some(time(at)), "{path:?}");
        }
        assert!(trail.set(b"none/", &Attributes::default()).is_err());
    }
}
