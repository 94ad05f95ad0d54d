//! OCI archives: a tar file that holds an image layout (`index.json`, `blobs/sha256/…`).
//!
//! Opened once, indexed by name, then read in place: an archive is never unpacked to find out what is in it.
//! Every blob is checked against its digest by whoever reads it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use crate::blobs::{Blobs, ContentError, Root, is_digest, small};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::unpack::{At, Index, Indexed};

const INDEX: &str = "index.json";
/// Layers and documents of hundreds of images; what has more is something else.
pub(crate) const MOST_MEMBERS: usize = 100_000;

#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    members: BTreeMap<String, Member>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    start: u64,
    size: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("not a readable tar file")]
    Tar(#[source] io::Error),
    #[error("it has more than {MOST_MEMBERS} files, which is no archive of images")]
    TooManyMembers,
    #[error("not an OCI archive: {0} is missing (`docker save` of an older Docker writes another format)")]
    Missing(String),
    #[error(transparent)]
    Content(#[from] ContentError),
}

// === impl Archive ===

impl Archive {
    pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
        let mut index = Index::new(File::open(path).map_err(ArchiveError::Tar)?);
        let mut members = BTreeMap::new();
        while let Some(Indexed { name, at }) = index.next().map_err(|e| ArchiveError::Tar(e.into_io()))? {
            if let At::File { start, size } = at {
                members.insert(name.trim_start_matches("./").to_owned(), Member { start, size });
            }
            if members.len() > MOST_MEMBERS {
                return Err(ArchiveError::TooManyMembers);
            }
        }
        Ok(Archive { path: path.to_owned(), members })
    }

    fn member(&self, name: &str) -> Result<Member, ArchiveError> {
        self.members.get(name).copied().ok_or_else(|| ArchiveError::Missing(name.to_owned()))
    }

    /// Opened anew, so that each reader has a place of its own.
    fn read(&self, member: Member, from: u64) -> Result<Take<File>, ArchiveError> {
        let mut file = File::open(&self.path).map_err(ArchiveError::Tar)?;
        let from = from.min(member.size);
        file.seek(SeekFrom::Start(member.start + from)).map_err(ArchiveError::Tar)?;
        Ok(file.take(member.size - from))
    }

    fn blob(&self, wanted: &Descriptor) -> Result<Member, ArchiveError> {
        if !is_digest(&wanted.digest) {
            return Err(ContentError::Digest(wanted.digest.clone()).into());
        }
        self.member(&format!("blobs/{}", wanted.digest.replace(':', "/")))
    }
}

impl Blobs for Archive {
    type Error = ArchiveError;

    const ROOT_IS_LIST: bool = true;

    fn root(&self) -> Result<Root, ArchiveError> {
        let member = self.member(INDEX)?;
        small(INDEX, member.size)?;
        let mut bytes = Vec::new();
        self.read(member, 0)?.read_to_end(&mut bytes).map_err(ArchiveError::Tar)?;
        Ok(Root { bytes, media_type: None })
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, ArchiveError> {
        self.document(wanted)
    }

    /// Some writers leave it out, where the archive says it as well.
    fn size(&self, wanted: &Descriptor) -> Result<u64, ArchiveError> {
        let found = self.blob(wanted)?.size;
        Ok(wanted.size.unwrap_or(found))
    }

    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, ArchiveError> {
        Ok(Box::new(self.read(self.blob(wanted)?, from)?))
    }

    /// There is one place only.
    fn damaged(&self, _wanted: &Digest) {}

    fn broken(error: io::Error) -> ArchiveError {
        ArchiveError::Tar(error)
    }
}

#[cfg(test)]
mod tests;
