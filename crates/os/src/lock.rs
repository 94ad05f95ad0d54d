//! Locks that processes and threads share alike, on files that come and go.
//!
//! The kernel ends a lock with the process that has it, however that ended. A lock file may be removed by who holds
//! it exclusively; who was waiting then has a lock on a file without a name, notices, and starts over with the new one.
//! So a store can have a lock per object without keeping a file per object that ever was.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// A lock, until dropped.
#[derive(Debug)]
pub struct Held {
    file: File,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Shared,
    Exclusive,
}

// === impl Held ===

impl Held {
    /// Waits until nobody else is in the way.
    pub fn take(path: &Path, mode: Mode) -> io::Result<Held> {
        loop {
            let file = open(path)?;
            match mode {
                Mode::Shared => file.lock_shared()?,
                Mode::Exclusive => file.lock()?,
            }
            if is_at(&file, path)? {
                return Ok(Held { file, path: path.to_owned() });
            }
        }
    }

    /// `None` when somebody else, in this process or another, is in the way.
    pub fn try_take(path: &Path, mode: Mode) -> io::Result<Option<Held>> {
        loop {
            let file = open(path)?;
            let locked = match mode {
                Mode::Shared => file.try_lock_shared(),
                Mode::Exclusive => file.try_lock(),
            };
            match locked {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
                Ok(()) if is_at(&file, path)? => return Ok(Some(Held { file, path: path.to_owned() })),
                Ok(()) => {}
            }
        }
    }

    /// Waits until nobody has the lock that somebody has now. Whether it can be had afterwards is another question.
    /// Makes no file.
    pub fn await_end(path: &Path) -> io::Result<()> {
        match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Shared: of all who wait, none waits for another.
            other => other?.lock_shared(),
        }
    }

    /// Whether somebody has the lock now. Makes no file.
    pub fn is_taken(path: &Path) -> io::Result<bool> {
        match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
            Ok(file) => match file.try_lock() {
                Ok(()) => Ok(false),
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error),
            },
        }
    }

    /// Ends the lock and its file. Only for who holds it exclusively.
    pub fn remove(self) -> io::Result<()> {
        // The name goes first: who opens the file before is told by `is_at`, who opens it after gets a new one.
        let removed = crate::file::remove(&self.path);
        drop(self.file);
        removed
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match sys::file::identity_at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(found? == sys::file::identity(file)?),
    }
}
