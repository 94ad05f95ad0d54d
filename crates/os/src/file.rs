//! Files that must survive a crash, and directories that nobody else may look into.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use crate::sys;

/// A lock on a file, held until dropped or until the kernel notices our death.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    owner: PathBuf,
}

/// The room of the file system that a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    pub total: u64,
    /// What we may still write.
    pub available: u64,
}

/// What stands at a path, after all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    /// A Unix socket, which Windows has too.
    Socket,
    /// A device, a pipe.
    Other,
    Missing,
}

/// Which file a path led to, and in which state: equal stamps mean that it was not replaced or written meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) id: (u64, u64),
    pub(crate) len: u64,
    pub modified: SystemTime,
}

static TEMPORARY: AtomicU32 = AtomicU32::new(0);

/// Replaces `path` by `bytes`: after a crash or power loss a reader finds the old content or the new, never a part.
/// The file is private to its owner.
pub fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, |_| Ok(()))
}

fn put(path: &Path, bytes: &[u8], finish: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let serial = TEMPORARY.fetch_add(1, Ordering::Relaxed);
    let beside = with_suffix(path, &format!(".{}-{serial}.tmp", std::process::id()));
    let result =
        fill(&beside, bytes).and_then(|()| finish(&beside)).and_then(|()| sys::file::replace(&beside, path));
    if result.is_err() {
        // The first error is the one to report; what is left is a file nobody reads.
        drop(std::fs::remove_file(&beside));
    }
    result
}

fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = sys::file::create_private(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Writes a program that only its owner may run, durably. Windows needs no mark on a file to run it.
pub fn write_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Before it gets its name: a kill in between must not leave a program that cannot be run.
    put(path, bytes, sys::file::make_executable)
}

/// A directory, and its missing parents, that is closed to other accounts from the moment it exists. One that is
/// there already is closed, unless it belongs to somebody else.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    sys::file::make_private_dir(path)
}

/// As [`make_private_dir`], but other accounts may pass through to what is open in it. On Windows they always may.
pub fn make_passable_dir(path: &Path) -> io::Result<()> {
    sys::file::make_passable_dir(path)
}

/// A directory, with its missing parents, in which everybody may read and only its owner (or an administrator) may
/// write. One that is there is closed to other writers, unless it belongs to somebody else.
pub fn make_readable_dir(path: &Path) -> io::Result<()> {
    sys::file::make_readable_dir(path)
}

/// What stands at a path. A link is followed, one that leads nowhere is missing.
pub fn kind(path: &Path) -> io::Result<Kind> {
    match sys::file::kind(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Kind::Missing)
        }
        other => other,
    }
}

/// Renames within a directory; on Windows waits a moment for those who still have something in it open.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    sys::file::rename(from, to)
}

/// Removes a tree, read-only entries too. Links are removed, not followed; a mount inside is an error.
/// A path that is not there is no error.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    sys::file::remove_tree(path)
}

/// Removes one file; its name goes at once, also while others have it open. One that is not there is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    match sys::file::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

pub fn stamp(path: &Path) -> io::Result<Stamp> {
    sys::file::stamp(path)
}

/// What an open file has in common with all its names, whatever they are by now.
pub fn identity(file: &File) -> io::Result<(u64, u64)> {
    sys::file::identity(file)
}

pub fn disk(path: &Path) -> io::Result<Disk> {
    sys::file::disk(path)
}

/// Everything written to the file system of this path is on the disk afterwards. Windows allows this to
/// administrators only, and answers others [`io::ErrorKind::Unsupported`].
pub fn sync_disk(path: &Path) -> io::Result<()> {
    sys::file::sync_disk(path)
}

/// Whether we are root, or an administrator with the full token.
pub fn elevated() -> bool {
    sys::file::elevated()
}

// === impl Stamp ===

impl Stamp {
    /// What two names of one file have in common.
    pub fn identity(&self) -> (u64, u64) {
        self.id
    }

    pub fn size(&self) -> u64 {
        self.len
    }
}

// === impl Lock ===

impl Lock {
    /// `None` when another process, or another `Lock` of ours, has it. No other account can: whoever may only read a
    /// file may still lock it, so nobody else may open this one.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = sys::file::open_private(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(None),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        let owner = with_suffix(path, ".pid");
        let mut hint = sys::file::open_private(&owner)?;
        hint.set_len(0)?;
        hint.write_all(std::process::id().to_string().as_bytes())?;
        Ok(Some(Self { _file: file, owner }))
    }

    /// The process that holds the lock, for a message to the user: a hint, not a promise. It stands in a file of its
    /// own because Windows lets nobody read a locked one.
    pub fn owner(path: &Path) -> Option<u32> {
        std::fs::read_to_string(with_suffix(path, ".pid")).ok()?.trim().parse().ok()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only the hint goes: removing the locked file itself would let two processes lock two files of one name.
        drop(std::fs::remove_file(&self.owner));
    }
}
