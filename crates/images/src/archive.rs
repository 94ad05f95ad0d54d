//! OCI archives: a tar file that holds an image layout (`index.json`, `blobs/sha256/…`).
//!
//! Opened once, indexed by name, then read in place: an archive is never unpacked to find out what is in it.
//! Every blob is checked against its digest while it is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::Path;

use crate::blobs::{Blob, Blobs, ContentError, is_digest};
use crate::document::Descriptor;

const INDEX: &str = "index.json";

#[derive(Debug)]
pub struct Archive {
    file: File,
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
    #[error("not an OCI archive: {0} is missing (`docker save` of an older Docker writes another format)")]
    Missing(String),
    #[error(transparent)]
    Content(#[from] ContentError),
}

// === impl Archive ===

impl Archive {
    pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
        let mut tar = tar::Archive::new(File::open(path).map_err(ArchiveError::Tar)?);
        let mut members = BTreeMap::new();
        for entry in tar.entries_with_seek().map_err(ArchiveError::Tar)? {
            let entry = entry.map_err(ArchiveError::Tar)?;
            if entry.header().entry_type().is_file() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
                members.insert(name, Member { start: entry.raw_file_position(), size: entry.size() });
            }
        }
        Ok(Archive { file: tar.into_inner(), members })
    }

    fn member(&self, name: &str) -> Result<Take<File>, ArchiveError> {
        let member = self.members.get(name).ok_or_else(|| ArchiveError::Missing(name.to_owned()))?;
        let mut file = self.file.try_clone().map_err(ArchiveError::Tar)?;
        file.seek(SeekFrom::Start(member.start)).map_err(ArchiveError::Tar)?;
        Ok(file.take(member.size))
    }
}

impl Blobs for Archive {
    type Error = ArchiveError;

    fn root(&self) -> Result<Vec<u8>, ArchiveError> {
        Ok(Blob::checked(self.member(INDEX)?).document(INDEX)?)
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, ArchiveError> {
        Ok(self.blob(wanted)?.document(&wanted.digest)?)
    }

    fn blob(&self, wanted: &Descriptor) -> Result<Blob, ArchiveError> {
        if !is_digest(&wanted.digest) {
            return Err(ContentError::Digest(wanted.digest.clone()).into());
        }
        let name = format!("blobs/{}", wanted.digest.replace(':', "/"));
        Ok(Blob::unchecked(self.member(&name)?, &wanted.digest))
    }
}

#[cfg(test)]
mod tests;
