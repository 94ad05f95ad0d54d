//! Modes, durable renames and trees removed without following anything out of them.

use std::ffi::CStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::file::{Disk, Kind, Stamp};

pub(crate) fn elevated() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// To read and write, made if it is not there. One that is there is closed to others, unless it is somebody else's.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(not_ours(path, "file"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn not_ours(path: &Path, what: &str) -> io::Error {
    let text = format!("{} is not a {what} of ours", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

pub(crate) fn make_executable(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// The rename itself is durable only once the directory is.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)?;
    let directory =
        to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(directory)?.sync_all()
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// What tells one file from another that has or had the same name.
pub(crate) fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

pub(crate) fn identity_at(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

pub(crate) fn stamp(path: &Path) -> io::Result<Stamp> {
    let found = std::fs::symlink_metadata(path)?;
    Ok(Stamp { id: (found.dev(), found.ino()), len: found.len(), modified: found.modified()? })
}

pub(crate) fn disk(path: &Path) -> io::Result<Disk> {
    let found = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Disk { total: bytes(found.f_blocks), available: bytes(found.f_bavail) })
}

pub(crate) fn sync_disk(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(path)?)?)
}

pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    make_dir(path, 0o700)
}

pub(crate) fn make_passable_dir(path: &Path) -> io::Result<()> {
    make_dir(path, 0o711)
}

pub(crate) fn make_readable_dir(path: &Path) -> io::Result<()> {
    make_dir(path, 0o755)
}

pub(crate) fn kind(path: &Path) -> io::Result<Kind> {
    let found = std::fs::metadata(path)?.file_type();
    Ok(match found {
        _ if found.is_dir() => Kind::Directory,
        _ if found.is_file() => Kind::File,
        _ if found.is_socket() => Kind::Socket,
        _ => Kind::Other,
    })
}

/// A directory that is there gets the mode too: never a wider one in between.
fn make_dir(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = std::fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(not_ours(path, "directory"));
    }
    if found.mode() & 0o077 != mode & 0o077 {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    let name = super::spawn::c_string(name)?;
    remove(parent.as_fd(), &name)
        .map_err(|error| io::Error::new(error.kind(), format!("remove {}: {error}", path.display())))
}

pub(crate) fn remove(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        // Linux says EISDIR for a directory, other file systems EPERM.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    empty(&open_below(parent, name)?)?;
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

/// Opens a directory only if it is no link and not the root of a mount: the kernel checks both at once.
fn open_below(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    let open = || rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve);
    match open() {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            Ok(open()?)
        }
        Err(Errno::XDEV) => Err(io::Error::new(io::ErrorKind::ResourceBusy, format!("{name:?} is a mount"))),
        other => Ok(other?),
    }
}

fn empty(directory: &OwnedFd) -> io::Result<()> {
    let mut writable = false;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let mut removed = remove(directory.as_fd(), name);
        if !writable && removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            // A read-only directory of ours keeps its entries until it is made writable.
            rustix::fs::fchmod(directory, Mode::RWXU)?;
            writable = true;
            removed = remove(directory.as_fd(), name);
        }
        removed?;
    }
    Ok(())
}
