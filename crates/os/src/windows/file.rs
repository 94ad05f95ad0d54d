//! Protected directories, durable renames, trees removed without following anything out of them.

use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_DELETE_PENDING, ERROR_DIR_NOT_EMPTY, ERROR_INVALID_FUNCTION,
    ERROR_SHARING_VIOLATION, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{GetNamedSecurityInfoW, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    DACL_SECURITY_INFORMATION, OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION,
    SetFileSecurityW,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CreateDirectoryW, DELETE, FILE_ATTRIBUTE_REPARSE_POINT,
    FILE_ATTRIBUTE_TAG_INFO, FILE_DISPOSITION_FLAG_DELETE, FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
    FILE_DISPOSITION_INFO_EX, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    FileAttributeTagInfo, FileDispositionInfoEx, GetDiskFreeSpaceExW, GetFileInformationByHandle,
    GetFileInformationByHandleEx, GetVolumeNameForVolumeMountPointW, GetVolumePathNameW,
    MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW, SetFileInformationByHandle,
};

use super::handle::{check, code, error, size_of};
use super::security::{self, Descriptor};
use super::text::{narrow, wide};
use crate::file::{Disk, Kind, Stamp};

/// Accounts that may own what is private besides ourselves: the system and the administrators.
const TRUSTED: [&str; 2] = ["S-1-5-18", "S-1-5-32-544"];

/// What a Unix socket's file is marked with.
const IO_REPARSE_TAG_AF_UNIX: u32 = 0x8000_0023;

/// Reading and running, for the group of all users.
const EVERYBODY_READS: &str = "(A;OICI;0x1200a9;;;BU)";

/// How long a removal waits for the last handles of ended processes.
const LINGER: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub(crate) fn elevated() -> bool {
    security::elevated()
}

/// Closed by the directory it is in, whose entries are inherited.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// To read and write, made if it is not there. One that was there before its directory was closed is closed now,
/// unless it is somebody else's.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    let owner = owner(path)?;
    if !is_ours(&owner)? || !file.metadata()?.is_file() {
        return Err(not_ours(path, "file", &owner));
    }
    set_list(path, &Descriptor::from_text(&security::private_to_us("", "FA", true)?)?)?;
    Ok(file)
}

/// The name alone decides what can be run.
pub(crate) fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// A reader that has the old file open keeps it from being replaced, for as long as it reads.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from)?, wide(to)?);
    patiently(|| {
        // SAFETY: both names end with a null.
        check(unsafe {
            MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)
        })
    })
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    patiently(|| std::fs::rename(from, to))
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    remove_name(path).or_else(|_| std::fs::remove_file(path))
}

/// What tells one file from another that has or had the same name.
pub(crate) fn identity(file: &File) -> io::Result<(u64, u64)> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open and the structure is the one that this call fills.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) })?;
    let index = (u64::from(found.nFileIndexHigh) << 32) | u64::from(found.nFileIndexLow);
    Ok((u64::from(found.dwVolumeSerialNumber), index))
}

/// A name whose file is only waiting for its last handle cannot be opened: it is as good as gone.
pub(crate) fn identity_at(path: &Path) -> io::Result<(u64, u64)> {
    match look(path) {
        Err(error) if lingers(&error) => Err(io::ErrorKind::NotFound.into()),
        file => identity(&file?),
    }
}

/// Opened for its facts only, which also works on a directory.
fn look(path: &Path) -> io::Result<File> {
    let flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
    File::options().access_mode(FILE_READ_ATTRIBUTES).custom_flags(flags).open(path)
}

/// Whoever may pass through is decided by a privilege that everybody has, not by the directory.
pub(crate) fn make_passable_dir(path: &Path) -> io::Result<()> {
    make_private_dir(path)
}

/// A socket's file cannot be opened but as the reparse point that it is.
pub(crate) fn kind(path: &Path) -> io::Result<Kind> {
    let found = std::fs::symlink_metadata(path)?;
    if found.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag(path)? == IO_REPARSE_TAG_AF_UNIX {
        return Ok(Kind::Socket);
    }
    let found = std::fs::metadata(path)?;
    Ok(if found.is_dir() { Kind::Directory } else { Kind::File })
}

fn tag(path: &Path) -> io::Result<u32> {
    let (file, mut found) = (look(path)?, FILE_ATTRIBUTE_TAG_INFO::default());
    // SAFETY: the handle is open, and the structure is the one of this class and as long as we say.
    check(unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileAttributeTagInfo,
            (&raw mut found).cast(),
            size_of::<FILE_ATTRIBUTE_TAG_INFO>(),
        )
    })?;
    Ok(found.ReparseTag)
}

pub(crate) fn stamp(path: &Path) -> io::Result<Stamp> {
    let file = look(path)?;
    let found = file.metadata()?;
    Ok(Stamp { id: identity(&file)?, len: found.len(), modified: found.modified()? })
}

pub(crate) fn disk(path: &Path) -> io::Result<Disk> {
    let (name, mut available, mut total) = (wide(path)?, 0, 0);
    // SAFETY: the name ends with a null; the numbers outlive the call.
    check(unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &raw mut available, &raw mut total, null_mut()) })?;
    Ok(Disk { total, available })
}

/// Only administrators may open a volume, and Wine's cannot be flushed.
pub(crate) fn sync_disk(path: &Path) -> io::Result<()> {
    let not_here = |error| io::Error::new(io::ErrorKind::Unsupported, format!("the volume: {error}"));
    let volume =
        volume(path).and_then(|volume| File::options().write(true).open(volume)).map_err(not_here)?;
    match volume.sync_all() {
        Err(error) if code(&error) == ERROR_INVALID_FUNCTION => Err(not_here(error)),
        other => other,
    }
}

/// The device of a path's volume: without its last backslash the name is the volume, with it the root directory.
fn volume(path: &Path) -> io::Result<String> {
    let (name, mut mount, mut volume) = (wide(path)?, [0u16; 1024], [0u16; 64]);
    // SAFETY: the names end with a null, and the buffers are as long as we say.
    unsafe {
        check(GetVolumePathNameW(name.as_ptr(), mount.as_mut_ptr(), 1024))?;
        check(GetVolumeNameForVolumeMountPointW(mount.as_ptr(), volume.as_mut_ptr(), 64))?;
    }
    Ok(narrow(&volume).trim_end_matches('\\').to_owned())
}

pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    make_dir(path, &security::private_to_us("OICI", "FA", true)?)
}

/// Whoever is logged on may change what is in most directories directly below a drive; not in these.
pub(crate) fn make_readable_dir(path: &Path) -> io::Result<()> {
    make_dir(path, &format!("{}{EVERYBODY_READS}", security::private_to_us("OICI", "FA", true)?))
}

fn make_dir(path: &Path, descriptor: &str) -> io::Result<()> {
    let descriptor = Descriptor::from_text(descriptor)?;
    match make(path, &descriptor) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => close(path, &descriptor),
        other => other,
    }
}

/// New directories, missing parents too, are born closed.
fn make(path: &Path, descriptor: &Descriptor) -> io::Result<()> {
    let name = wide(path)?;
    let attributes = descriptor.attributes();
    // SAFETY: the name ends with a null; the attributes and their descriptor outlive the call.
    match check(unsafe { CreateDirectoryW(name.as_ptr(), &raw const attributes) }) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).ok_or(error)?;
            match make(parent, descriptor) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => make(path, descriptor),
            }
        }
        other => other,
    }
}

/// Closes a directory that was there before. Ordinary users may make directories in some of the places where ours
/// are, and an owner can always open them again: theirs are refused.
fn close(path: &Path, descriptor: &Descriptor) -> io::Result<()> {
    let owner = owner(path)?;
    if !is_ours(&owner)? || !std::fs::symlink_metadata(path)?.is_dir() {
        return Err(not_ours(path, "directory", &owner));
    }
    set_list(path, descriptor)
}

fn is_ours(owner: &str) -> io::Result<bool> {
    Ok(TRUSTED.contains(&owner) || owner == security::user_sid()?)
}

fn not_ours(path: &Path, what: &str, owner: &str) -> io::Error {
    let text = format!("{} is not a {what} of ours, but of {owner}", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

fn owner(path: &Path) -> io::Result<String> {
    let (name, mut sid, mut descriptor) = (wide(path)?, null_mut(), null_mut());
    // SAFETY: the answer's SID leads into the descriptor, which is freed after the text was made.
    unsafe {
        let result = GetNamedSecurityInfoW(
            name.as_ptr(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut sid,
            null_mut(),
            null_mut(),
            null_mut(),
            &raw mut descriptor,
        );
        if result != 0 {
            return Err(error(result));
        }
        let text = security::sid_text(sid);
        LocalFree(descriptor);
        text
    }
}

pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    if path.as_os_str().encode_wide().next().is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    patiently(|| remove(path))
        .map_err(|error| io::Error::new(error.kind(), format!("remove {}: {error}", path.display())))
}

/// Tries again while the last handles of others linger.
fn patiently(mut act: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let deadline = Instant::now() + LINGER;
    loop {
        match act() {
            Err(error) if lingers(&error) && Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            other => return other,
        }
    }
}

/// A file that is still open, or a program that still runs, goes when the last handle does. A process that has
/// just ended, or a scanner that looks at what it wrote, holds them for a moment longer.
fn lingers(error: &io::Error) -> bool {
    let codes = [ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_DIR_NOT_EMPTY, ERROR_DELETE_PENDING];
    error.raw_os_error().is_some_and(|code| codes.iter().any(|known| i64::from(*known) == i64::from(code)))
}

/// Links, junctions and mounted volumes show as links here and are removed as such.
fn remove(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    make_writable(path, &found)?;
    if found.file_type().is_symlink() {
        return std::fs::remove_dir(path).or_else(|_| std::fs::remove_file(path));
    }
    if !found.is_dir() {
        return insisting(path, || remove_name(path).or_else(|_| std::fs::remove_file(path)));
    }
    for entry in insisting(path, || std::fs::read_dir(path))? {
        remove(&entry?.path())?;
    }
    insisting(path, || std::fs::remove_dir(path))
}

/// The name goes at once, also while others have the file open; otherwise its directory stays until they are done.
fn remove_name(path: &Path) -> io::Result<()> {
    let flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS;
    let file = File::options().access_mode(DELETE).custom_flags(flags).open(path)?;
    let wanted = FILE_DISPOSITION_INFO_EX {
        Flags: FILE_DISPOSITION_FLAG_DELETE | FILE_DISPOSITION_FLAG_POSIX_SEMANTICS,
    };
    // SAFETY: the structure is the one that this class wants and outlives the call.
    check(unsafe {
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileDispositionInfoEx,
            (&raw const wanted).cast(),
            size_of::<FILE_DISPOSITION_INFO_EX>(),
        )
    })
}

/// What an image brought may deny us everything but, as it is ours, the right to change that.
fn insisting<T>(path: &Path, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match act() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let opened = Descriptor::from_text(&security::private_to_us("OICI", "FA", true)?)
                .and_then(|descriptor| set_list(path, &descriptor));
            opened.map_err(|_| error)?;
            act()
        }
        other => other,
    }
}

fn set_list(path: &Path, descriptor: &Descriptor) -> io::Result<()> {
    let (name, what) = (wide(path)?, DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION);
    // SAFETY: the name ends with a null and the descriptor outlives the call.
    check(unsafe { SetFileSecurityW(name.as_ptr(), what, descriptor.as_ptr()) })
}

#[expect(
    clippy::permissions_set_readonly_false,
    reason = "on Windows this clears one attribute and opens nothing"
)]
fn make_writable(path: &Path, found: &Metadata) -> io::Result<()> {
    let mut permissions = found.permissions();
    if !permissions.readonly() || found.file_type().is_symlink() {
        return Ok(());
    }
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)
}
