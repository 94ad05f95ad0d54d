//! Binds as the child makes them: sources are taken as detached trees, then put in place one after the other.
//!
//! A tree that is to pass mounts on is taken while the child's mounts are still peers of the host's, and stays one of
//! them; all others are taken after that is over.
//!
//! A detached tree can be made read-only before anybody sees it, with all that is mounted in it, and needs no path to be
//! put in place. The rules of [`super::born`] hold here too.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_int, c_long, c_ulong};
use std::os::fd::RawFd;

use super::born::{Step, check, errno};
use super::mounts::flags;
use crate::process::SpawnStep;

#[derive(Debug)]
pub(crate) struct BindMount {
    pub(crate) source: CString,
    pub(crate) target: Target,
    /// How deep, if at all: `AT_RECURSIVE` for everything that is mounted below the source too.
    pub(crate) readonly: Option<c_int>,
    /// One of `MS_PRIVATE`, `MS_SLAVE` and `MS_SHARED`.
    pub(crate) propagation: c_ulong,
    /// Where the child keeps the tree between the two steps.
    pub(crate) tree: Cell<RawFd>,
}

#[derive(Debug)]
pub(crate) enum Target {
    /// It is on the host, and no business of ours to make.
    Existing(CString),
    /// It is in something that was mounted before, and made as needed.
    Below { base: CString, steps: Vec<Below>, file: bool },
}

/// One name on the way down from the base.
#[derive(Debug)]
pub(crate) struct Below {
    /// From the base to here.
    pub(crate) path: CString,
    pub(crate) name: CString,
}

const DIRECTORY_MODE: libc::mode_t = 0o755;
const FILE_MODE: libc::mode_t = 0o644;

// === impl BindMount ===

impl BindMount {
    /// Before the child's mounts become its own.
    pub(crate) fn take_as_peer(&self) -> Step {
        if self.propagation == libc::MS_PRIVATE {
            return Ok(());
        }
        self.copy()?;
        set(self.tree.get(), libc::AT_RECURSIVE, |wanted| wanted.propagation = self.propagation)
    }

    /// After that.
    pub(crate) fn take(&self) -> Step {
        if self.propagation == libc::MS_PRIVATE {
            self.copy()?;
        }
        self.readonly.map_or(Ok(()), |depth| make_readonly(self.tree.get(), depth))
    }

    /// Everything that is mounted at the source and below.
    fn copy(&self) -> Step {
        let flags = flags(libc::OPEN_TREE_CLONE, libc::O_CLOEXEC | libc::AT_RECURSIVE);
        // SAFETY: a null-ended string that outlives the call, and plain numbers.
        let tree =
            call(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, self.source.as_ptr(), flags) })?;
        self.tree.set(tree);
        Ok(())
    }

    pub(crate) fn place(&self) -> Step {
        let flags = libc::MOVE_MOUNT_F_EMPTY_PATH | libc::MOVE_MOUNT_T_EMPTY_PATH;
        let (tree, empty) = (self.tree.get(), c"".as_ptr());
        let target = self.target.open()?;
        // SAFETY: both descriptors are open; a static string.
        call(unsafe { libc::syscall(libc::SYS_move_mount, tree, empty, target, empty, flags) })?;
        close(target);
        close(tree);
        Ok(())
    }
}

/// `depth` is `AT_RECURSIVE` for everything that is mounted below too.
pub(crate) fn make_readonly(tree: RawFd, depth: c_int) -> Step {
    set(tree, depth, |wanted| wanted.attr_set = libc::MOUNT_ATTR_RDONLY)
}

fn set(tree: RawFd, depth: c_int, what: impl FnOnce(&mut libc::mount_attr)) -> Step {
    // SAFETY: plain numbers, for which zero means "leave it".
    let mut wanted: libc::mount_attr = unsafe { std::mem::zeroed() };
    what(&mut wanted);
    let (empty, flags) = (c"".as_ptr(), libc::AT_EMPTY_PATH | depth);
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the structure is as large as we say and outlives the call.
    call(unsafe { libc::syscall(libc::SYS_mount_setattr, tree, empty, flags, &raw const wanted, size) })
        .map(drop)
}

// === impl Target ===

impl Target {
    fn open(&self) -> Step<RawFd> {
        match self {
            Self::Existing(path) => open(path, libc::O_PATH | libc::O_CLOEXEC),
            Self::Below { base, steps, file } => {
                let base = open(base, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC)?;
                let opened = descend(base, steps, *file)?;
                close(base);
                Ok(opened)
            }
        }
    }
}

fn descend(base: RawFd, steps: &[Below], file: bool) -> Step<RawFd> {
    let mut at = base;
    for (step, below_it) in steps.iter().zip((0..steps.len()).rev()) {
        let next = match beneath(base, &step.path) {
            Err(_) if errno() == libc::ENOENT => {
                make(at, &step.name, file && below_it == 0)?;
                beneath(base, &step.path)?
            }
            other => other?,
        };
        if at != base {
            close(at);
        }
        at = next;
    }
    Ok(at)
}

/// A link that leads out of the base is refused: what is to be made would be made on the host.
fn beneath(base: RawFd, path: &CStr) -> Step<RawFd> {
    // SAFETY: plain numbers, for which zero means "nothing special".
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = u64::from((libc::O_PATH | libc::O_CLOEXEC).cast_unsigned());
    how.resolve = libc::RESOLVE_BENEATH;
    let size = size_of::<libc::open_how>();
    // SAFETY: the structure is as large as we say; it and the null-ended string outlive the call.
    call(unsafe { libc::syscall(libc::SYS_openat2, base, path.as_ptr(), &raw const how, size) })
}

fn make(at: RawFd, name: &CStr, file: bool) -> Step {
    let name = name.as_ptr();
    // SAFETY: the descriptor is open, the string ends with a null and outlives the calls.
    unsafe {
        if file {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC;
            close(check(libc::openat(at, name, flags, FILE_MODE), SpawnStep::Bind)?);
            return Ok(());
        }
        check(libc::mkdirat(at, name, DIRECTORY_MODE), SpawnStep::Bind)?;
        // The umask is whoever started us, and the way to a mount must be open to the account that is to use it.
        check(libc::fchmodat(at, name, DIRECTORY_MODE, 0), SpawnStep::Bind).map(drop)
    }
}

fn open(path: &CStr, flags: c_int) -> Step<RawFd> {
    // SAFETY: a null-ended string that outlives the call.
    check(unsafe { libc::open(path.as_ptr(), flags) }, SpawnStep::Bind)
}

fn close(fd: RawFd) {
    // SAFETY: a descriptor of this child that nobody uses any more.
    unsafe { libc::close(fd) };
}

fn call(result: c_long) -> Step<c_int> {
    check(c_int::try_from(result).unwrap_or(-1), SpawnStep::Bind)
}
