//! The members of an archive or of a directory, by name.
//!
//! Everything here is foreign: names may climb out, links may go in circles, sizes may lie. An archive is read in
//! place if it can be; one that is compressed, or comes through a pipe, is laid into a file without a name first,
//! which is gone with this process whatever ends it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};

use super::TransferError;
use crate::archive::MOST_MEMBERS;
use crate::blobs::small;
use crate::unpack::{At, Compression, Index, Indexed, Limits, detect};

/// Older Dockers link layers that several images share; skopeo links names of older forms to newer ones.
const MOST_LINKS: usize = 8;
/// How many names an error shows.
const SHOWN: usize = 5;
/// Laid down at once.
const CHUNK: usize = 128 * 1024;

/// An archive or a directory with images in it.
#[derive(Debug)]
pub struct Package {
    what: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Dir(PathBuf),
    Tar { file: File, members: BTreeMap<String, Member> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Member {
    File {
        start: u64,
        size: u64,
    },
    /// By the whole name of what it leads to.
    Link(String),
}

// === impl Package ===

impl Package {
    /// A file or a directory. What has to be laid down goes to `spool`.
    pub fn open(path: &Path, spool: &Path) -> Result<Package, TransferError> {
        let what = path.display().to_string();
        let failed = |source| TransferError::Open { what: what.clone(), source };
        if path.is_dir() {
            return Ok(Package { place: Place::Dir(path.to_owned()), what });
        }
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Package::read(file, &what, spool);
        }
        match packed(&file, &what)? {
            Compression::None => Package::of_tar(file, what),
            _ => Package::read(file, &what, spool),
        }
    }

    /// What comes through a pipe, compressed or not.
    pub fn read(from: impl Read + Send, what: &str, spool: &Path) -> Result<Package, TransferError> {
        // A few megabytes can unpack to more than any disk has. What no layer may be, no archive is.
        Package::read_at_most(Limits::default().bytes, from, what, spool)
    }

    /// `longest` is how many bytes the tar file may have.
    fn read_at_most(
        longest: u64,
        from: impl Read + Send,
        what: &str,
        spool: &Path,
    ) -> Result<Package, TransferError> {
        let (from, compression) = detect(from, None).map_err(|e| strange(what, &e))?;
        let failed = |source| TransferError::Tar { what: what.to_owned(), source };
        let from = compression.decoder(from).map_err(failed)?;
        let file = lay_down(from, longest, what, spool)?;
        Package::of_tar(file, what.to_owned())
    }

    fn of_tar(mut file: File, what: String) -> Result<Package, TransferError> {
        let failed = |source| TransferError::Tar { what: what.clone(), source };
        let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut index = Index::new(&file);
        let mut members = BTreeMap::new();
        while let Some(indexed) = index.next().map_err(|e| failed(e.into_io()))? {
            let Some((name, member)) = member(indexed) else { continue };
            if member.end() > length {
                return Err(TransferError::Cut { what, name });
            }
            members.insert(name, member);
            if members.len() > MOST_MEMBERS {
                return Err(TransferError::TooManyMembers { what, most: MOST_MEMBERS });
            }
        }
        Ok(Package { place: Place::Tar { file, members }, what })
    }

    /// How errors name it.
    pub fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn is_dir(&self) -> bool {
        matches!(self.place, Place::Dir(_))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        matches!(self.find(name), Ok(Some(_)))
    }

    /// A member's content. Members are read one after the other: they share one place in the file.
    pub(super) fn member(&self, name: &str) -> Result<Take<File>, TransferError> {
        self.find(name)?
            .ok_or_else(|| TransferError::Missing { what: self.what.clone(), name: name.to_owned() })
    }

    /// A member that must be small.
    pub(super) fn document(&self, name: &str) -> Result<Vec<u8>, TransferError> {
        let mut member = self.member(name)?;
        small(name, member.limit())?;
        let mut bytes = Vec::new();
        let what = || format!("{name} in {}", self.what);
        member.read_to_end(&mut bytes).map_err(|source| TransferError::Open { what: what(), source })?;
        Ok(bytes)
    }

    /// Some of the names, for an error.
    pub(super) fn shown(&self) -> String {
        let names: Vec<String> = match &self.place {
            Place::Dir(dir) => {
                let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
            Place::Tar { members, .. } => members.keys().cloned().collect(),
        };
        let inner = names.iter().find_map(|name| name.strip_suffix("/index.json"));
        match (inner, names.len()) {
            (Some(dir), _) => format!("there is one in {dir}/, pack from inside that directory"),
            (None, 0) => "nothing is in it".to_owned(),
            (None, count) => {
                let more = if count > SHOWN { ", …" } else { "" };
                format!("it has {}{more}", names[..count.min(SHOWN)].join(", "))
            }
        }
    }

    fn find(&self, name: &str) -> Result<Option<Take<File>>, TransferError> {
        let outside = || TransferError::Outside { what: self.what.clone(), name: name.to_owned() };
        let plain = normal("", name).filter(|plain| !plain.is_empty()).ok_or_else(outside)?;
        let failed = |source| TransferError::Open { what: format!("{name} in {}", self.what), source };
        match &self.place {
            Place::Dir(dir) => in_dir(&dir.join(&plain)).map_err(failed),
            Place::Tar { file, members } => match followed(members, plain) {
                Some((start, size)) => {
                    let mut file = file.try_clone().map_err(failed)?;
                    file.seek(SeekFrom::Start(start)).map_err(failed)?;
                    Ok(Some(file.take(size)))
                }
                None => Ok(None),
            },
        }
    }
}

// === impl Member ===

impl Member {
    fn end(&self) -> u64 {
        match self {
            Member::File { start, size } => start.saturating_add(*size),
            Member::Link(_) => 0,
        }
    }
}

/// Into a file without a name. What cannot be read is the archive's fault, what cannot be written is this disk's.
fn lay_down(mut from: impl Read, longest: u64, what: &str, spool: &Path) -> Result<File, TransferError> {
    let unread = |source| TransferError::Tar { what: what.to_owned(), source };
    let unwritten =
        |source| TransferError::Write { what: format!("a copy of {what} in {}", spool.display()), source };
    let mut file = tempfile::tempfile_in(spool).map_err(unwritten)?;
    let mut chunk = vec![0; CHUNK];
    let mut length = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return Ok(file),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unread(error)),
        };
        length += read as u64;
        if length > longest {
            return Err(TransferError::TooLarge { what: what.to_owned(), longest });
        }
        file.write_all(&chunk[..read]).map_err(unwritten)?;
    }
}

/// A layout's files are files: what a link leads to may be anything of this host.
fn in_dir(path: &Path) -> io::Result<Option<Take<File>>> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() => Ok(Some(File::open(path)?.take(found.len()))),
        Ok(_) => Ok(None),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}

fn followed(members: &BTreeMap<String, Member>, mut name: String) -> Option<(u64, u64)> {
    for _ in 0..=MOST_LINKS {
        match members.get(&name)? {
            Member::File { start, size } => return Some((*start, *size)),
            Member::Link(to) => name.clone_from(to),
        }
    }
    None
}

fn member(Indexed { name, at }: Indexed) -> Option<(String, Member)> {
    let name = normal("", &name)?;
    let member = match at {
        At::File { start, size } => Member::File { start, size },
        At::Symlink(to) => Member::Link(normal(name.rsplit_once('/').map_or("", |(dir, _)| dir), &to)?),
        At::HardLink(to) => Member::Link(normal("", &to)?),
    };
    Some((name, member))
}

/// A name from the top, without `.` and `..`; none if it leads out. Windows' separators and drives lead out too.
fn normal(dir: &str, name: &str) -> Option<String> {
    if name.starts_with('/') || name.contains(['\\', ':', '\0']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn packed(file: &File, what: &str) -> Result<Compression, TransferError> {
    let mut start = file;
    let (_, compression) = detect(start, None).map_err(|e| strange(what, &e))?;
    start.seek(SeekFrom::Start(0)).map_err(|source| TransferError::Open { what: what.to_owned(), source })?;
    Ok(compression)
}

fn strange(what: &str, error: &crate::unpack::UnpackError) -> TransferError {
    use crate::unpack::UnpackError;
    let what = what.to_owned();
    match error {
        UnpackError::Compression { found, .. } => TransferError::Packed { what, found: (*found).to_owned() },
        other => TransferError::Tar { what, source: io::Error::other(other.to_string()) },
    }
}

#[cfg(test)]
mod tests;
