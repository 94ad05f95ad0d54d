//! Where a build is made: a directory beside its goal, since there is room for it.
//!
//! It goes with the build. One that was killed leaves it behind, and the next build there removes it: a lock in it tells
//! whether somebody still works in it, and so does the number of the process in its name. Both must say no, since on a
//! shared disk the process may be another machine's, and before it has the lock it has the number.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use os::lock::{Held, Mode};

/// The directory of one build, until dropped.
#[derive(Debug)]
pub struct Site {
    path: PathBuf,
    lock: Option<Held>,
}

const PREFIX: &str = "unfinished-build-";
const LOCK: &str = "lock";

// === impl Site ===

impl Site {
    /// Makes the directory of this process, and removes those that others left.
    pub fn make(beside: &Path) -> io::Result<Site> {
        std::fs::create_dir_all(beside)?;
        sweep(beside);
        let path = beside.join(format!("{PREFIX}{}", std::process::id()));
        if is_left(&path)? {
            // Of one who had our number before us.
            os::file::remove_tree(&path)?;
        }
        std::fs::create_dir(&path)?;
        let lock = Held::take(&path.join(LOCK), Mode::Exclusive)?;
        Ok(Site { path, lock: Some(lock) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Windows removes no directory with an open file in it.
        drop(self.lock.take());
        // Whatever led here is the thing to tell.
        drop(os::file::remove_tree(&self.path));
    }
}

/// What somebody else may not remove is theirs: that is no reason not to build.
fn sweep(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|entry| state(entry) == Some(State::Left)) {
        drop(os::file::remove_tree(&entry.path()));
    }
}

/// Of a directory that a build works or worked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    InUse,
    Left,
}

/// `None` if it is no build's.
pub(crate) fn state(entry: &DirEntry) -> Option<State> {
    let name = entry.file_name();
    let pid: u32 = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
    if !entry.file_type().ok()?.is_dir() {
        return None;
    }
    // What cannot be found out might be in use.
    let left = !os::process::is_running(pid) && is_left(&entry.path()).unwrap_or(false);
    Some(if left { State::Left } else { State::InUse })
}

/// Whether it is there and nobody has its lock.
fn is_left(path: &Path) -> io::Result<bool> {
    Ok(path.symlink_metadata().is_ok_and(|found| found.is_dir()) && !Held::is_taken(&path.join(LOCK))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that no process has.
    const NOBODY: u32 = u32::MAX;

    fn names(dir: &Path) -> Vec<String> {
        let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_next_build_removes_what_a_killed_one_left_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (left, locked) = (format!("{PREFIX}{NOBODY}"), format!("{PREFIX}{}", NOBODY - 1));
        let ours = format!("{PREFIX}{}", std::process::id());
        let strangers = [format!("{PREFIX}x"), "unfinished-build".into()];
        for name in [&left, &locked, &ours].into_iter().chain(&strangers) {
            std::fs::create_dir_all(dir.path().join(name).join("work")).unwrap();
        }
        // As if it were another machine's.
        let lock = Held::take(&dir.path().join(&locked).join(LOCK), Mode::Exclusive).unwrap();
        std::fs::write(dir.path().join(format!("{PREFIX}{}", NOBODY - 2)), "no directory").unwrap();
        let site = Site::make(dir.path()).unwrap();
        assert_eq!(names(site.path()), [LOCK], "what was there under our number is gone");
        let mut kept = vec![locked.clone(), ours, format!("{PREFIX}{}", NOBODY - 2)];
        kept.extend(strangers.clone());
        kept.sort();
        assert_eq!(names(dir.path()), kept);
        drop((site, lock));
        drop(Site::make(dir.path()).unwrap());
        assert_eq!(names(dir.path()).len(), kept.len() - 2);
    }

    #[test]
    fn only_a_directory_in_which_nobody_works_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let site = Site::make(dir.path()).unwrap();
        let one = || std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(state(&one()), Some(State::InUse));
        drop(site);
        std::fs::create_dir(dir.path().join(format!("{PREFIX}{NOBODY}"))).unwrap();
        assert_eq!(state(&one()), Some(State::Left));
        os::file::rename(&one().path(), &dir.path().join("other")).unwrap();
        assert_eq!(state(&one()), None);
    }
}
