//! What is done to the host for a container, and how it is taken back.
//!
//! Two containers may need one mount point. Removing it under the second would take its volume away while it runs, so
//! for each path it is known whose journals list it, and it goes with the last of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::fail;
use crate::holders;
use crate::journal::{Effect, Journal, JournalError};

/// The mount points that were made on this host, each with the journals that list it.
#[derive(Debug, Default)]
pub(crate) struct Made(Mutex<Users>);

type Users = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("make the mount point {path}")]
    MountPoint { path: PathBuf, source: io::Error },
    #[error("link {path}")]
    Link { path: PathBuf, source: io::Error },
}

/// Everything that could not be taken back. Nothing is given up because something before it failed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("not everything could be undone: {}", .0.join("; "))]
    Undo(Vec<String>),
    #[error("remove {path}: {source}")]
    Remove { path: PathBuf, source: io::Error },
}

// === impl Made ===

impl Made {
    fn users(&self) -> MutexGuard<'_, Users> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from a journal that an earlier agent wrote.
    pub(crate) fn learn(&self, journal: &Path) -> Result<(), JournalError> {
        let mut users = self.users();
        for effect in Journal::read(journal)? {
            if let Effect::Directory { path } | Effect::File { path } | Effect::Link { path } = effect {
                users.entry(path).or_default().insert(journal.to_owned());
            }
        }
        Ok(())
    }

    /// Sees to it that something can be mounted at a path; true if the host had something there before us.
    pub(crate) fn mount_point(
        &self,
        journal: &mut Journal,
        path: &Path,
        file: bool,
    ) -> Result<bool, EffectError> {
        let mut users = self.users();
        let mut ancestors: Vec<&Path> = path.ancestors().collect();
        ancestors.reverse();
        let mut theirs = false;
        for each in ancestors {
            theirs = !users.contains_key(each) && each.exists();
            if theirs {
                continue;
            }
            let is_file = file && each == path;
            let effect = if is_file {
                Effect::File { path: each.to_owned() }
            } else {
                Effect::Directory { path: each.to_owned() }
            };
            journal.record(&effect)?;
            fail::point("mount-point-noted");
            users.entry(each.to_owned()).or_default().insert(journal.path().to_owned());
            make(each, is_file)
                .map_err(|source| EffectError::MountPoint { path: each.to_owned(), source })?;
            fail::point("mount-point-made");
        }
        Ok(theirs)
    }

    /// A link in a volume, for as long as somebody needs it. What the volume has there already is its owner's.
    pub(crate) fn link(
        &self,
        journal: &mut Journal,
        path: &Path,
        to: &Path,
        file: bool,
    ) -> Result<(), EffectError> {
        let failed = |source| EffectError::Link { path: path.to_owned(), source };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        self.mount_point(journal, parent, false)?;
        let mut users = self.users();
        let ours = users.contains_key(path) && std::fs::read_link(path).is_ok_and(|known| known == to);
        if !ours && std::fs::symlink_metadata(path).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        journal.record(&Effect::Link { path: path.to_owned() })?;
        fail::point("link-noted");
        users.entry(path.to_owned()).or_default().insert(journal.path().to_owned());
        if ours {
            return Ok(());
        }
        os::tree::Dir::open(parent)
            .and_then(|dir| dir.symlink(name, to.as_os_str(), !file))
            .map_err(failed)?;
        fail::point("link-made");
        Ok(())
    }

    /// Undoes what a journal lists, last first, and then forgets the journal. Safe to repeat.
    pub(crate) fn undo(&self, journal: &Path) -> Result<(), UndoError> {
        let mut failures = Vec::new();
        for effect in Journal::read(journal)?.into_iter().rev() {
            if let Err(e) = self.undo_one(&effect, journal) {
                failures.push(format!("{effect:?}: {e}"));
            }
            fail::point("effect-undone");
        }
        if !failures.is_empty() {
            return Err(UndoError::Undo(failures));
        }
        let removed = os::file::remove(journal);
        fail::point("journal-removed");
        removed.map_err(|source| UndoError::Remove { path: journal.to_owned(), source })
    }

    fn undo_one(&self, effect: &Effect, journal: &Path) -> io::Result<()> {
        match effect {
            Effect::Job(job) => os::job::sweep(job).map(drop),
            Effect::Holder { endpoint } => holders::end(endpoint),
            Effect::User { name } => os::user::remove_temporary(name),
            Effect::Tree { path } => os::file::remove_tree(path),
            Effect::Link { path } => self.leave(path, journal, remove_if_link),
            Effect::Directory { path } => self.leave(path, journal, remove_if_empty),
            Effect::File { path } => self.leave(path, journal, remove_if_untouched),
        }
    }

    /// This journal needs the path no longer; if nobody does, it goes. Nobody can come to need it in between, who would
    /// take it for the host's own.
    fn leave(&self, path: &Path, journal: &Path, remove: fn(&Path) -> io::Result<()>) -> io::Result<()> {
        let mut users = self.users();
        if let Some(journals) = users.get_mut(path) {
            journals.remove(journal);
            if !journals.is_empty() {
                return Ok(());
            }
            users.remove(path);
        }
        remove(path)
    }
}

fn make(path: &Path, file: bool) -> io::Result<()> {
    let made = if file {
        std::fs::File::options().write(true).create_new(true).open(path).map(drop)
    } else {
        std::fs::create_dir(path)
    };
    match made {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn remove_if_link(path: &Path) -> io::Result<()> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { os::file::remove_tree(path) } else { Ok(()) }
}

/// What somebody has put there meanwhile is theirs.
fn remove_if_empty(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir(path) {
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

fn remove_if_untouched(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_file() && found.len() == 0 => os::file::remove(path),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(dir: &Path, name: &str) -> Journal {
        Journal::open(&dir.join(name)).unwrap()
    }

    /// One container's clean-up and the next one's start.
    #[test]
    fn whoever_comes_while_a_mount_point_goes_has_one() {
        let dir = tempfile::tempdir().unwrap();
        let (target, made) = (dir.path().join("at"), Made::default());
        let work = |number: usize| {
            for _ in 0..200 {
                let path = dir.path().join(format!("journal-{number}"));
                let mut journal = Journal::open(&path).unwrap();
                assert!(
                    !made.mount_point(&mut journal, &target, false).unwrap(),
                    "nothing here is the host's"
                );
                assert!(target.exists(), "it is needed");
                drop(journal);
                made.undo(&path).unwrap();
            }
        };
        std::thread::scope(|threads| (0..3).for_each(|number| drop(threads.spawn(move || work(number)))));
        assert!(!target.exists());
    }

    #[test]
    fn a_mount_point_goes_with_the_last_who_needs_it() {
        let dir = tempfile::tempdir().unwrap();
        let made = Made::default();
        let (mut one, mut two) = (journal(dir.path(), "one"), journal(dir.path(), "two"));
        let target = dir.path().join("a/b/c");
        assert!(!made.mount_point(&mut one, &target, false).unwrap());
        assert!(!made.mount_point(&mut two, &target, false).unwrap(), "ours, not the host's");
        made.undo(one.path()).unwrap();
        assert!(target.is_dir() && !one.path().exists());
        // An agent that starts anew learns the same from what is left.
        let made = Made::default();
        made.learn(two.path()).unwrap();
        made.undo(two.path()).unwrap();
        assert!(!dir.path().join("a").exists());
        made.undo(two.path()).expect("once more");
    }

    #[test]
    fn what_the_host_had_or_somebody_filled_stays() {
        let dir = tempfile::tempdir().unwrap();
        let made = Made::default();
        let mut journal = journal(dir.path(), "journal");
        let (had, file) = (dir.path().join("had"), dir.path().join("x/file"));
        std::fs::create_dir(&had).unwrap();
        assert!(made.mount_point(&mut journal, &had, false).unwrap());
        made.mount_point(&mut journal, &file, true).unwrap();
        made.mount_point(&mut journal, &dir.path().join("used"), false).unwrap();
        std::fs::write(dir.path().join("used/theirs"), "").unwrap();
        assert!(file.is_file());
        made.undo(journal.path()).unwrap();
        assert!(had.is_dir() && dir.path().join("used/theirs").exists() && !dir.path().join("x").exists());
    }

    #[test]
    fn a_link_is_shared_and_never_the_users_own() {
        let dir = tempfile::tempdir().unwrap();
        let made = Made::default();
        let (mut one, mut two) = (journal(dir.path(), "one"), journal(dir.path(), "two"));
        let (path, to) = (dir.path().join("volume/deep"), dir.path().to_owned());
        for journal in [&mut one, &mut two] {
            made.link(journal, &path, &to, false).unwrap();
        }
        made.undo(one.path()).unwrap();
        assert_eq!(std::fs::read_link(&path).unwrap(), to);
        made.undo(two.path()).unwrap();
        assert!(!dir.path().join("volume").exists());
        let theirs = dir.path().join("theirs");
        os::tree::Dir::open(dir.path()).unwrap().symlink("theirs".as_ref(), to.as_os_str(), true).unwrap();
        let mut three = journal(dir.path(), "three");
        assert!(made.link(&mut three, &theirs, &to, false).is_err());
        made.undo(three.path()).unwrap();
        assert!(theirs.is_symlink());
    }

    #[test]
    fn a_failure_does_not_keep_the_rest_and_can_be_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let made = Made::default();
        let mut journal = journal(dir.path(), "journal");
        let bad = Effect::Job(os::job::JobName { parent: "..".into(), id: "x".into() });
        made.mount_point(&mut journal, &dir.path().join("d"), false).unwrap();
        journal.record(&bad).unwrap();
        for _ in 0..2 {
            let error = made.undo(journal.path()).unwrap_err().to_string();
            assert!(error.contains("not a job name"), "{error}");
            assert!(!dir.path().join("d").exists() && journal.path().exists());
        }
    }
}
