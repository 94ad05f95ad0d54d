//! A registry's blobs by way of files: for those who read an image as [`Blobs`].

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::answer::PullError;
use super::{Access, Remote};
use crate::blobs::{Blob, Blobs, check, file_name};
use crate::document::Descriptor;
use crate::progress::Caller;
use crate::reference::Reference;

/// One image in a registry whose blobs are put into a directory.
#[derive(Debug)]
pub(crate) struct Spool<'a> {
    remote: Remote<'a>,
    into: &'a Path,
}

/// What is read at a time.
const PIECE: usize = 128 << 10;

// === impl Spool ===

impl<'a> Spool<'a> {
    pub(crate) fn open(
        reference: &Reference,
        access: &Access,
        into: &'a Path,
        caller: Caller<'a>,
    ) -> Result<Spool<'a>, PullError> {
        Ok(Spool { remote: Remote::open(reference, access, caller)?, into })
    }

    /// How many bytes of blobs came.
    pub(crate) fn moved(&self) -> u64 {
        self.remote.moved()
    }

    /// A blob that came is whole and right, or there is an error.
    fn download(&self, wanted: &Descriptor, path: &Path) -> Result<u64, PullError> {
        let mut stream = self.remote.blob(wanted, 0)?;
        let unwritten = |source| PullError::Write { path: path.to_owned(), source };
        let mut file = File::create(path).map_err(unwritten)?;
        let (mut hash, mut size, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
        loop {
            let length = stream.read(&mut piece).map_err(PullError::from_io)?;
            if length == 0 {
                break;
            }
            hash.update(&piece[..length]);
            file.write_all(&piece[..length]).map_err(unwritten)?;
            size += length as u64;
        }
        check(&wanted.digest, &hash.finalize())?;
        Ok(size)
    }
}

impl Blobs for Spool<'_> {
    type Error = PullError;

    fn root(&self) -> Result<Vec<u8>, PullError> {
        Ok(self.remote.root()?.bytes)
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, PullError> {
        self.remote.manifest(wanted)
    }

    fn blob(&self, wanted: &Descriptor) -> Result<Blob, PullError> {
        let path: PathBuf = self.into.join(file_name(&wanted.digest)?);
        let size = self.download(wanted, &path)?;
        let file = File::open(&path).map_err(|source| PullError::Write { path, source })?;
        Ok(Blob::checked(file.take(size)))
    }
}
