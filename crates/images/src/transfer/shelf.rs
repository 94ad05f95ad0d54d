//! Where saved members go: a directory, or a tar stream that may be a pipe.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::TransferError;
use super::layout::{INDEX, MARKER};

/// Where images are saved to.
pub enum Target<'a> {
    /// Has its name only when it is complete.
    File(&'a Path),
    /// A directory; one that is an OCI layout already gets more images.
    Dir(&'a Path),
    /// A pipe or the standard output.
    Stream(&'a mut (dyn Write + 'a)),
}

/// An open target.
pub(super) enum Shelf<'a> {
    Dir(PathBuf),
    Tar { tar: tar::Builder<Box<dyn Write + 'a>>, place: Option<Place>, written: BTreeSet<String> },
}

/// A file under its unfinished name.
pub(super) struct Place {
    unfinished: PathBuf,
    path: PathBuf,
    whole: bool,
}

// === impl Target ===

impl<'a> Target<'a> {
    pub(super) fn what(&self) -> String {
        match self {
            Target::File(path) | Target::Dir(path) => path.display().to_string(),
            Target::Stream(_) => "the output".to_owned(),
        }
    }

    pub(super) fn open(self) -> Result<Shelf<'a>, TransferError> {
        let what = self.what();
        let failed = |source| TransferError::Write { what, source };
        match self {
            Target::Dir(path) => {
                if !free(path).map_err(failed)? {
                    return Err(TransferError::Occupied { path: path.to_owned() });
                }
                Ok(Shelf::Dir(path.to_owned()))
            }
            Target::File(path) => {
                let place = Place::beside(path);
                let file = File::create(&place.unfinished).map_err(failed)?;
                Ok(Shelf::tar(BufWriter::new(file), Some(place)))
            }
            Target::Stream(to) => Ok(Shelf::tar(BufWriter::new(to), None)),
        }
    }
}

impl std::fmt::Debug for Target<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what())
    }
}

/// Nothing of somebody else's may be buried under blobs.
fn free(path: &Path) -> io::Result<bool> {
    match std::fs::read_dir(path) {
        Ok(mut entries) => Ok(path.join(MARKER).is_file() || entries.next().is_none()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e),
    }
}

// === impl Shelf ===

impl<'a> Shelf<'a> {
    fn tar(to: impl Write + 'a, place: Option<Place>) -> Shelf<'a> {
        let to: Box<dyn Write + 'a> = Box::new(to);
        Shelf::Tar { tar: tar::Builder::new(to), place, written: BTreeSet::new() }
    }

    /// Whether it is there already: layers are shared by images.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Shelf::Dir(dir) => dir.join(name).is_file(),
            Shelf::Tar { written, .. } => written.contains(name),
        }
    }

    pub(super) fn put(&mut self, name: &str, size: u64, from: impl Read) -> io::Result<()> {
        match self {
            Shelf::Dir(dir) => put_file(&dir.join(name), size, from),
            Shelf::Tar { tar, written, .. } => {
                written.insert(name.to_owned());
                put_member(tar, name, size, from)
            }
        }
    }

    /// The list of images that a directory has already.
    pub(super) fn list(&self) -> io::Result<Option<Vec<u8>>> {
        let Shelf::Dir(dir) = self else { return Ok(None) };
        match std::fs::read(dir.join(INDEX)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(super) fn finish(self) -> io::Result<()> {
        let Shelf::Tar { tar, place, .. } = self else { return Ok(()) };
        tar.into_inner()?.flush()?;
        place.map_or(Ok(()), Place::become_whole)
    }
}

fn put_file(path: &Path, size: u64, from: impl Read) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let place = Place::beside(path);
    let mut file = File::create(&place.unfinished)?;
    copy_exactly(from, &mut file, size)?;
    drop(file);
    place.become_whole()
}

fn put_member(tar: &mut tar::Builder<impl Write>, name: &str, size: u64, from: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    let mut counted = Exactly { from, left: size };
    tar.append_data(&mut header, name, &mut counted)
}

fn copy_exactly(from: impl Read, to: &mut impl Write, size: u64) -> io::Result<()> {
    let mut counted = Exactly { from, left: size };
    io::copy(&mut counted, to).map(drop)
}

/// A reader that must have this many bytes: less would make a broken archive, silently.
struct Exactly<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        match self.from.read(&mut buffer[..most])? {
            0 => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{} bytes are missing", self.left)))
            }
            read => {
                self.left -= read as u64;
                Ok(read)
            }
        }
    }
}

// === impl Place ===

impl Place {
    fn beside(path: &Path) -> Place {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        Place { unfinished: unfinished.into(), path: path.to_owned(), whole: false }
    }

    fn become_whole(mut self) -> io::Result<()> {
        os::file::rename(&self.unfinished, &self.path)?;
        self.whole = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.whole {
            // The error that led here is the one to tell.
            drop(std::fs::remove_file(&self.unfinished));
        }
    }
}
