//! What a child mounts for itself, between fork and exec: the rules of [`super::born`] hold here too.
//!
//! Everything that is named by a path of the host is opened first, before anything is covered: a bind's source is what
//! the host has there, not what an earlier bind put there.

use std::ffi::{CStr, CString, c_int, c_uint};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::binds::{self, BindMount};
use super::born::{self, Step, check, errno};
use crate::process::SpawnStep;

/// Which files the process sees.
#[derive(Debug)]
pub(crate) enum Sight {
    Own(Mounts),
    /// What another process of the job made.
    Join {
        user: Option<RawFd>,
        mount: RawFd,
    },
}

/// A mount namespace of its own and what is mounted in it, in this order.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) user: Option<IdMaps>,
    pub(crate) scratch: Option<ScratchMount>,
    pub(crate) overlay: Option<OverlayMount>,
    pub(crate) binds: Vec<BindMount>,
}

/// One user and one group, each as itself: an unprivileged process may map no other.
#[derive(Debug)]
pub(crate) struct IdMaps {
    pub(crate) uid: CString,
    pub(crate) gid: CString,
}

/// A file system of a given size over the scratch directory, with the directories that an overlay needs.
#[derive(Debug)]
pub(crate) struct ScratchMount {
    pub(crate) at: CString,
    pub(crate) options: CString,
    pub(crate) dirs: Vec<MadeDir>,
}

#[derive(Debug)]
pub(crate) struct MadeDir {
    pub(crate) path: CString,
    pub(crate) mode: libc::mode_t,
    pub(crate) owner: Option<(u32, u32)>,
}

#[derive(Debug)]
pub(crate) struct OverlayMount {
    pub(crate) options: CString,
    pub(crate) target: CString,
    /// What the options mean by number.
    pub(crate) lower: Vec<(CString, OwnedFd)>,
    /// Once everything that belongs into it is in place.
    pub(crate) readonly: bool,
}

/// Which half of a bind a failure is about: the places on the report pipe are numbered `2 * bind + half`.
const SOURCE: c_int = 0;
const TARGET: c_int = 1;

/// `report` hears the place of what cannot be mounted.
pub(crate) fn see(sight: &Sight, report: RawFd) -> Step {
    match sight {
        Sight::Join { user, mount } => {
            if let Some(user) = user {
                join(*user, libc::CLONE_NEWUSER)?;
            }
            join(*mount, libc::CLONE_NEWNS)
        }
        Sight::Own(mounts) => mounts.make(report),
    }
}

// === impl Mounts ===

impl Mounts {
    fn make(&self, report: RawFd) -> Step {
        let flags = libc::CLONE_NEWNS | self.user.as_ref().map_or(0, |_| libc::CLONE_NEWUSER);
        // SAFETY: a forked child has one thread and shares no memory.
        check(unsafe { libc::unshare(flags) }, SpawnStep::Namespace)?;
        self.user.as_ref().map_or(Ok(()), map_ids)?;
        self.each_bind(report, SOURCE, BindMount::take_as_peer)?;
        make_private()?;
        self.overlay.iter().flat_map(|overlay| &overlay.lower).try_for_each(reopen)?;
        self.each_bind(report, SOURCE, BindMount::take)?;
        self.scratch.as_ref().map_or(Ok(()), ScratchMount::mount)?;
        self.overlay.as_ref().map_or(Ok(()), OverlayMount::mount)?;
        self.each_bind(report, TARGET, BindMount::place)?;
        self.overlay.as_ref().filter(|overlay| overlay.readonly).map_or(Ok(()), OverlayMount::close)
    }

    fn each_bind(&self, report: RawFd, half: c_int, act: fn(&BindMount) -> Step) -> Step {
        for (number, bind) in (0..).zip(&self.binds) {
            act(bind).inspect_err(|_| tell_place(report, 2 * number + half))?;
        }
        Ok(())
    }
}

/// Says what the failure that follows is about; why it failed must still be known after that.
fn tell_place(report: RawFd, place: c_int) {
    let why = errno();
    born::report(report, born::REPORT_PLACE, place);
    // SAFETY: the C library's own place for this thread's error.
    unsafe { *libc::__errno_location() = why };
}

fn join(fd: RawFd, kind: c_int) -> Step {
    // SAFETY: the descriptor is open, kept by the parent.
    check(unsafe { libc::setns(fd, kind) }, SpawnStep::Namespace).map(drop)
}

fn map_ids(maps: &IdMaps) -> Step {
    put(c"/proc/self/setgroups", c"deny")?;
    put(c"/proc/self/uid_map", &maps.uid)?;
    put(c"/proc/self/gid_map", &maps.gid)
}

fn put(path: &CStr, text: &CStr) -> Step {
    let bytes = text.to_bytes();
    // SAFETY: both strings outlive the calls and the length is the text's.
    unsafe {
        let fd = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC), SpawnStep::IdMap)?;
        let written = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        check(if written < 0 { -1 } else { 0 }, SpawnStep::IdMap)?;
        libc::close(fd);
    }
    Ok(())
}

/// What we mount must not reach the host, and stays ours when the host unmounts.
fn make_private() -> Step {
    let (none, flags) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: the kernel ignores the null arguments when only propagation changes.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, none.cast()) }, SpawnStep::Namespace)
        .map(drop)
}

/// A directory that was opened before belongs to the namespace we have left, and no mount takes it: the same path
/// opened here takes its number.
fn reopen((path, number): &(CString, OwnedFd)) -> Step {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: a null-ended string that outlives the call, and numbers of this process.
    unsafe {
        let opened = check(libc::open(path.as_ptr(), flags), SpawnStep::Mount)?;
        check(libc::dup3(opened, number.as_raw_fd(), libc::O_CLOEXEC), SpawnStep::Mount)?;
        libc::close(opened);
    }
    Ok(())
}

// === impl ScratchMount ===

impl ScratchMount {
    fn mount(&self) -> Step {
        mount(c"tmpfs", &self.at, &self.options, SpawnStep::Scratch)?;
        self.dirs.iter().try_for_each(MadeDir::make)
    }
}

// === impl MadeDir ===

impl MadeDir {
    /// The mode is set once more because the umask is whoever started us.
    fn make(&self) -> Step {
        let path = self.path.as_ptr();
        // SAFETY: a null-ended string that outlives the calls, and plain numbers.
        unsafe {
            check(libc::mkdir(path, self.mode), SpawnStep::Scratch)?;
            if let Some((uid, gid)) = self.owner {
                check(libc::chown(path, uid, gid), SpawnStep::Scratch)?;
            }
            check(libc::chmod(path, self.mode), SpawnStep::Scratch).map(drop)
        }
    }
}

// === impl OverlayMount ===

impl OverlayMount {
    fn mount(&self) -> Step {
        mount(c"overlay", &self.target, &self.options, SpawnStep::Mount)
    }

    fn close(&self) -> Step {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: a null-ended string that outlives the call.
        let at = check(unsafe { libc::open(self.target.as_ptr(), flags) }, SpawnStep::Mount)?;
        binds::make_readonly(at, 0)?;
        // SAFETY: just opened, and nobody else's.
        unsafe { libc::close(at) };
        Ok(())
    }
}

fn mount(kind: &CStr, target: &CStr, options: &CStr, step: SpawnStep) -> Step {
    let (kind, target, options) = (kind.as_ptr(), target.as_ptr(), options.as_ptr());
    // SAFETY: null-ended strings that outlive the call.
    check(unsafe { libc::mount(kind, target, kind, 0, options.cast()) }, step).map(drop)
}

/// The flags of the newer mount calls come in two widths.
pub(crate) const fn flags(unsigned: c_uint, signed: c_int) -> c_uint {
    unsigned | signed.cast_unsigned()
}
