//! Names below a directory, as paths whose every part was looked at: the tree is ours alone while it is written.
//!
//! Of a security descriptor only the list of who may do what (the DACL) is given to a file: owner, group and what is
//! to be audited stay as the system made them.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileTimes, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileTimesExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windows_sys::Win32::Security::{DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, SetFileSecurityW};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_HIDDEN, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_NOT_CONTENT_INDEXED,
    FILE_ATTRIBUTE_READONLY, FILE_ATTRIBUTE_REPARSE_POINT, FILE_ATTRIBUTE_SYSTEM, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES, SetFileAttributesW,
};

use super::handle::check;
use super::security;
use super::text::wide;
use crate::descriptor::is_sound;
use crate::tree::{Attributes, Child, Descriptor, Marks, Node, Refused, Time};

pub(crate) const FOLDS_CASE: bool = true;

/// The bits that can be given; the others say what a file is.
const GIVEN: u32 = FILE_ATTRIBUTE_READONLY
    | FILE_ATTRIBUTE_HIDDEN
    | FILE_ATTRIBUTE_SYSTEM
    | FILE_ATTRIBUTE_ARCHIVE
    | FILE_ATTRIBUTE_NOT_CONTENT_INDEXED;

#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
    found: Attributes,
}

pub(crate) fn name(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(OsString::from)
}

pub(crate) fn overlay_marks(_scratch: &Path) -> io::Result<Marks> {
    Err(not_here("overlayfs"))
}

fn not_here(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{what}: not on Windows"))
}

/// Long paths, and names that mean nothing special: the system takes what follows as it is.
fn verbatim(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let on_a_drive = path.as_os_str().as_encoded_bytes().get(1) == Some(&b':');
    if !on_a_drive {
        return Ok(path);
    }
    let mut text = OsString::from(r"\\?\");
    text.push(path);
    Ok(text.into())
}

// === impl Dir ===

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Dir> {
        let path = verbatim(path)?;
        let found = std::fs::metadata(&path)?;
        if found.is_dir() { Ok(Dir::of(path, &found)) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    fn of(path: PathBuf, metadata: &Metadata) -> Dir {
        let since = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let time = |since: Duration| {
            Some(Time { seconds: i64::try_from(since.as_secs()).ok()?, nanos: since.subsec_nanos() })
        };
        let found = Attributes { modified: since.and_then(time), ..Attributes::default() };
        Dir { path, found }
    }

    /// The path of one name. Joined to a path, `C:x` would replace it and `a\b` be two names.
    fn at(&self, name: &OsStr) -> io::Result<PathBuf> {
        let text = name.as_encoded_bytes();
        let is_one = !matches!(text, b"" | b"." | b"..") && !text.iter().any(|byte| br"\/:".contains(byte));
        if is_one {
            return Ok(self.path.join(name));
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} is not one name", name.display())))
    }

    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Child> {
        let path = self.at(name)?;
        let found = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Child::Missing),
            other => other?,
        };
        if found.file_type().is_symlink() {
            return Ok(Child::Link(std::fs::read_link(&path)?));
        }
        // Other reparse points (placeholders of cloud drives, layers of others) are no place to write into.
        let plain = found.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT == 0;
        if found.is_dir() && plain {
            Ok(Child::Directory(Dir::of(path, &found).into()))
        } else {
            Ok(Child::Other)
        }
    }

    pub(crate) fn make(&self, name: &OsStr) -> io::Result<Dir> {
        let path = self.at(name)?;
        std::fs::create_dir(&path)?;
        Ok(Dir { path, found: Attributes::default() })
    }

    pub(crate) fn create(&self, name: &OsStr, _mode: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.at(name)?)
    }

    pub(crate) fn finish(&self, name: &OsStr, file: File, wanted: &Attributes) -> io::Result<Refused> {
        if let Some(times) = times(wanted) {
            file.set_times(times)?;
        }
        drop(file);
        Ok(set_by_name(&self.at(name)?, wanted))
    }

    pub(crate) fn symlink(&self, name: &OsStr, target: &OsStr, directory: bool) -> io::Result<()> {
        let path = self.at(name)?;
        if directory {
            std::os::windows::fs::symlink_dir(target, &path)?;
        } else {
            std::os::windows::fs::symlink_file(target, &path)?;
        }
        // There are systems whose call says yes and does nothing.
        if std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_symlink()) {
            Ok(())
        } else {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this system makes no links"))
        }
    }

    pub(crate) fn hard_link(&self, name: &OsStr, from: &Dir, source: &OsStr) -> io::Result<()> {
        std::fs::hard_link(from.at(source)?, self.at(name)?)
    }

    pub(crate) fn node(&self, _name: &OsStr, _node: Node, _mode: u32) -> io::Result<()> {
        Err(not_here("device nodes and fifos"))
    }

    /// The bits of a link would be those of what it leads to.
    pub(crate) fn set_child(&self, name: &OsStr, wanted: &Attributes) -> io::Result<Refused> {
        set_times(&self.at(name)?, wanted)?;
        Ok(Refused::new())
    }

    pub(crate) fn set_directory(&self, name: &OsStr, wanted: &Attributes) -> io::Result<Refused> {
        match self.child(name)? {
            Child::Directory(dir) => dir.set(wanted),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(crate) fn set(&self, wanted: &Attributes) -> io::Result<Refused> {
        set_times(&self.path, wanted)?;
        Ok(set_by_name(&self.path, wanted))
    }

    pub(crate) fn found(&self) -> &Attributes {
        &self.found
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<bool> {
        let path = self.at(name)?;
        let is_dir = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?.is_dir(),
        };
        super::file::remove_tree(&path)?;
        Ok(is_dir)
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    /// Two names of one file are equal here only as text; a link to itself is caught by that.
    pub(crate) fn same(&self, name: &OsStr, other: &Dir, other_name: &OsStr) -> io::Result<bool> {
        let fold = |path: PathBuf| path.to_string_lossy().to_uppercase();
        Ok(fold(self.at(name)?) == fold(other.at(other_name)?))
    }

    pub(crate) fn whiteout(&self, _name: &OsStr) -> io::Result<()> {
        Err(not_here("overlayfs"))
    }

    pub(crate) fn make_opaque(&self, _marks: Marks) -> io::Result<()> {
        Err(not_here("overlayfs"))
    }

    /// A volume can be flushed by administrators only, and file by file it would cost more than the unpacking.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn set_times(path: &Path, wanted: &Attributes) -> io::Result<()> {
    let Some(times) = times(wanted) else { return Ok(()) };
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    let mut options = OpenOptions::new();
    options.access_mode(FILE_WRITE_ATTRIBUTES).custom_flags(flags).open(path)?.set_times(times)
}

fn times(wanted: &Attributes) -> Option<FileTimes> {
    let mut times = FileTimes::new().set_modified(system_time(wanted.modified?)?);
    if let Some(created) = wanted.created.and_then(system_time) {
        times = times.set_created(created);
    }
    Some(times)
}

fn system_time(Time { seconds, nanos }: Time) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = SystemTime::UNIX_EPOCH;
    let at = if seconds < 0 { start.checked_sub(whole)? } else { start.checked_add(whole)? };
    at.checked_add(Duration::from_nanos(nanos.into()))
}

/// The descriptor first: a read-only file is still one whose descriptor can be set, the other way round it may not be.
fn set_by_name(path: &Path, wanted: &Attributes) -> Refused {
    let mut refused = Refused::new();
    if let Some(descriptor) = &wanted.descriptor
        && let Err(error) = protect(path, descriptor)
    {
        refused.push(("security descriptor".to_owned(), error));
    }
    if let Some(bits) = wanted.bits.map(|bits| bits & GIVEN).filter(|bits| *bits != 0)
        && let Err(error) = set_bits(path, bits)
    {
        refused.push((format!("attributes {bits:#x}"), error));
    }
    refused
}

fn set_bits(path: &Path, bits: u32) -> io::Result<()> {
    let path = wide(path)?;
    // SAFETY: the path ends with a null.
    check(unsafe { SetFileAttributesW(path.as_ptr(), bits & !FILE_ATTRIBUTE_NORMAL) })
}

fn protect(path: &Path, descriptor: &Descriptor) -> io::Result<()> {
    match descriptor {
        Descriptor::Text(text) => set_list(path, security::Descriptor::from_text(text)?.as_ptr()),
        Descriptor::SelfRelative(bytes) if is_sound(bytes) => {
            // Structures inside are read as words: the copy is aligned for them.
            let mut words = vec![0u64; bytes.len().div_ceil(8)];
            for (word, part) in words.iter_mut().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..part.len()].copy_from_slice(part);
                *word = u64::from_ne_bytes(whole);
            }
            set_list(path, words.as_mut_ptr().cast())
        }
        Descriptor::SelfRelative(_) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "not a sound security descriptor"))
        }
    }
}

/// Only who may do what: with the owner we would give away the right to remove the file again.
fn set_list(path: &Path, descriptor: PSECURITY_DESCRIPTOR) -> io::Result<()> {
    let path = wide(path)?;
    // SAFETY: the path ends with a null; the callers pass a sound descriptor that outlives the call.
    check(unsafe { SetFileSecurityW(path.as_ptr(), DACL_SECURITY_INFORMATION, descriptor) })
}

#[cfg(test)]
mod tests;
