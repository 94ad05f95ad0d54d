//! From directory to directory at the end of a layer. Those that follow each other share most of their way, which is
//! gone once: the walk from the root for each of them was a tenth of unpacking small files. Only what others lie in is
//! opened: most directories hold files alone, and this comes when every other core has nothing to do any more.

use std::ffi::OsString;
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
        let at = self.open.last().map_or(0, |(known, _)| known.len());
        let (above, name) = match path[at..].strip_suffix(b"/") {
            // It was on the way to the one before.
            None => return self.last().set(attributes),
            Some(rest) => rest.split_at(rest.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1)),
        };
        let deep = self.follow(&path[..at + above.len()], at)?;
        deep.as_ref().unwrap_or_else(|| self.last()).set_directory(&self::name(name)?, attributes)
    }

    /// Opens what is on the way from there. What lies too deep to stay open is given back.
    fn follow(&mut self, path: &[u8], mut at: usize) -> io::Result<Option<Dir>> {
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
        Ok(deep)
    }

    fn last(&self) -> &Dir {
        self.open.last().map_or(self.root, |(_, dir)| dir)
    }
}

fn name(part: &[u8]) -> io::Result<OsString> {
    os::tree::name(part).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

fn child(here: &Dir, part: &[u8]) -> io::Result<Dir> {
    match here.child(&name(part)?)? {
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

    #[cfg(unix)]
    #[test]
    fn every_directory_gets_its_own_mode_and_nothing_else_is_touched() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let dir = tempfile::tempdir().unwrap();
        let modes = [("a/b/", 0o700), ("a/c/", 0o1777), ("a/d/", 0o755), ("a/", 0o2750), ("", 0o711)];
        for (path, _) in modes {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        std::fs::write(dir.path().join("file"), "").unwrap();
        symlink("a", dir.path().join("link")).unwrap();
        let root = Dir::open(dir.path()).unwrap();
        let mut trail = Trail::new(&root);
        for (path, mode) in modes {
            let wanted = Attributes { mode: Some(mode), ..Attributes::default() };
            assert!(trail.set(path.as_bytes(), &wanted).unwrap().is_empty());
        }
        for name in [&b"file/"[..], b"link/"] {
            let error = trail.set(name, &Attributes { mode: Some(0), ..Attributes::default() }).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        }
        for (path, mode) in modes {
            let found = std::fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{path:?}");
        }
    }
}
