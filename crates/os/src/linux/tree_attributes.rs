//! Owners, modes, times and extended attributes, in the order in which they do not undo each other.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags};
use rustix::io::Errno;

use crate::tree::{Attributes, Refused, Time};

/// For what is open; `mode` and `given_away` say whether mode and owner may be other ones than wanted. A change of
/// owner takes setuid bits and capabilities away, so it comes first.
pub(crate) fn set(file: impl AsFd, wanted: &Attributes, mode: bool, given_away: bool) -> io::Result<Refused> {
    let file = file.as_fd();
    if let Some((user, group)) = given_away.then(|| owner(wanted)).flatten() {
        rustix::fs::fchown(file, Some(user), Some(group))?;
    }
    if let Some(bits) = wanted.mode.filter(|_| mode) {
        rustix::fs::fchmod(file, Mode::from_raw_mode(bits & 0o7777))?;
    }
    let refused =
        extended(wanted, |name, value| rustix::fs::fsetxattr(file, name, value, XattrFlags::empty()));
    if let Some(times) = times(wanted) {
        rustix::fs::futimens(file, &times)?;
    }
    Ok(refused)
}

/// For links and devices, which must not be opened, and directories, which need not.
pub(crate) fn set_at(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    wanted: &Attributes,
    mode: bool,
    given_away: bool,
) -> io::Result<Refused> {
    if let Some((user, group)) = given_away.then(|| owner(wanted)).flatten() {
        rustix::fs::chownat(parent, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    if let Some(bits) = wanted.mode.filter(|_| mode) {
        rustix::fs::chmodat(parent, name, Mode::from_raw_mode(bits & 0o7777), AtFlags::empty())?;
    }
    // No call takes a directory and a name for these; the kernel's own name of the directory does.
    let path = Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name);
    let refused =
        extended(wanted, |name, value| rustix::fs::lsetxattr(&path, name, value, XattrFlags::empty()));
    if let Some(times) = times(wanted) {
        rustix::fs::utimensat(parent, name, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(refused)
}

fn owner(wanted: &Attributes) -> Option<(Uid, Gid)> {
    let known = |id: &u32| *id != u32::MAX;
    let (user, group) = wanted.owner.filter(|(user, group)| known(user) && known(group))?;
    crate::elevated().then(|| (Uid::from_raw(user), Gid::from_raw(group)))
}

fn times(wanted: &Attributes) -> Option<Timestamps> {
    let Time { seconds, nanos } = wanted.modified?;
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    Some(Timestamps {
        last_access: omitted,
        last_modification: Timespec { tv_sec: seconds, tv_nsec: i64::from(nanos) },
    })
}

fn extended(wanted: &Attributes, set: impl Fn(&[u8], &[u8]) -> Result<(), Errno>) -> Refused {
    let mut refused = Vec::new();
    for (name, value) in &wanted.extended {
        if let Err(error) = set(name.as_bytes(), value) {
            refused.push((name.to_string_lossy().into_owned(), error.into()));
        }
    }
    refused
}
