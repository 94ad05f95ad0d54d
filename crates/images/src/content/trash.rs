//! Things go at once and are deleted later: a rename is quick and whole, a deletion is neither.
//!
//! Also here: what processes that died left behind, which the next opening takes away. Only things that nobody can
//! be at are touched, which a lock says; nothing is waited for.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use os::lock::{Held, Mode};

use super::unpacked::{Kind, UNFINISHED};
use super::{At, Content, DepotError, LOCKS, RECORDS, TRASH, if_there};
use crate::digest::Digest;

/// Guards `names.json` and the records while they are written.
pub(crate) const INDEX_LOCK: &str = "index";
const TRASH_LOCK: &str = "trash";

// === impl Content ===

impl Content {
    /// Moves a file or a directory out of the way. What is not there is gone already.
    pub(crate) fn discard(&self, path: &Path) -> Result<(), DepotError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let gone = self.room(TRASH).join(format!("{}-{serial}", std::process::id()));
        match if_there(std::fs::rename(path, &gone)) {
            Ok(_) => Ok(()),
            // Windows moves no directory in which somebody has a file open, and no trash of an earlier process with
            // our number is replaced. Deleted where it is, it loses its note first, and so is absent from then on.
            Err(_) => self.remove_in_place(path),
        }
    }

    fn remove_in_place(&self, path: &Path) -> Result<(), DepotError> {
        for kind in Kind::ALL {
            let note = path.join(kind.note());
            os::file::remove(&note)
                .or_else(|error| if path.is_dir() { Err(error) } else { Ok(()) })
                .at("remove", &note)?;
        }
        os::file::remove_tree(path).at("remove", path)
    }

    /// Deletes what was discarded, unless somebody is at it. On Windows a directory stays as long as a file in it is
    /// open, also one that is deleted: it is gone from the store all the same, and goes from the disk with a later
    /// emptying.
    pub fn empty_trash(&self) -> Result<(), DepotError> {
        let (trash, lock) = (self.room(TRASH), self.lock_path(TRASH_LOCK));
        let Some(_held) = Held::try_take(&lock, Mode::Exclusive).at("lock", &lock)? else { return Ok(()) };
        for entry in std::fs::read_dir(&trash).at("list", &trash)? {
            let path = entry.at("list", &trash)?.path();
            drop(os::file::remove_tree(&path));
        }
        Ok(())
    }

    /// Also for programs that live on, while others come and die.
    pub(crate) fn sweep_leftovers(&self) -> Result<(), DepotError> {
        for kind in Kind::ALL {
            self.sweep_unfinished(kind)?;
        }
        self.sweep_temporary()?;
        self.sweep_locks()?;
        self.sweep_leases()?;
        self.empty_trash()
    }

    fn sweep_unfinished(&self, kind: Kind) -> Result<(), DepotError> {
        let room = self.room(kind.room());
        for entry in std::fs::read_dir(&room).at("list", &room)? {
            let entry = entry.at("list", &room)?;
            let name = entry.file_name();
            let hex = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED));
            let Some(digest) = hex.and_then(Digest::from_hex) else { continue };
            if let Some(_flight) = self.try_flight(&kind.key(&digest))? {
                os::file::remove_tree(&entry.path()).at("remove", &entry.path())?;
            }
        }
        Ok(())
    }

    /// What a durable write of a record or of the names left beside it.
    fn sweep_temporary(&self) -> Result<(), DepotError> {
        let lock = self.lock_path(INDEX_LOCK);
        let Some(_held) = Held::try_take(&lock, Mode::Exclusive).at("lock", &lock)? else { return Ok(()) };
        for dir in [self.dir().to_owned(), self.room(RECORDS)] {
            for entry in std::fs::read_dir(&dir).at("list", &dir)? {
                let path = entry.at("list", &dir)?.path();
                if path.extension().is_some_and(|end| end == "tmp") {
                    os::file::remove(&path).at("remove", &path)?;
                }
            }
        }
        Ok(())
    }

    /// Files of locks whose holders died. Those of flights only: the others are few and stay.
    fn sweep_locks(&self) -> Result<(), DepotError> {
        let dir = self.room(LOCKS);
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            let path = entry.at("list", &dir)?.path();
            let is_flight = path.file_name().is_some_and(|name| name.to_string_lossy().contains('-'));
            if is_flight && let Ok(Some(held)) = Held::try_take(&path, Mode::Exclusive) {
                held.remove().at("remove", &path)?;
            }
        }
        Ok(())
    }
}
