//! Blobs that are there: complete and right since they got their names.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use super::{At, BLOBS, Content, DepotError, Key, if_there};
use crate::blobs::LONGEST_DOCUMENT;
use crate::digest::Digest;

// === impl Content ===

impl Content {
    /// Opened so that it can be deleted meanwhile: who has it reads on to the end.
    pub fn blob(&self, digest: &Digest) -> Result<Option<File>, DepotError> {
        let path = self.blob_path(digest);
        // Of all systems, only Windows would mind, and Rust opens files there so that others may delete them.
        if_there(File::open(&path)).at("open", &path)
    }

    pub fn blob_size(&self, digest: &Digest) -> Option<u64> {
        std::fs::metadata(self.blob_path(digest)).ok().map(|found| found.len())
    }

    /// The whole of a small blob, checked once more.
    pub fn document(&self, digest: &Digest) -> Result<Option<Vec<u8>>, DepotError> {
        let Some(file) = self.blob(digest)? else { return Ok(None) };
        let (path, mut bytes) = (self.blob_path(digest), Vec::new());
        file.take(LONGEST_DOCUMENT).read_to_end(&mut bytes).at("read", &path)?;
        let found = Digest::of(&bytes);
        if found == *digest {
            return Ok(Some(bytes));
        }
        Err(DepotError::Damaged { wanted: digest.clone(), found, resumed: 0 })
    }

    /// Keeps a document. Waits for whoever is at the same one, so the caller must not hold its flight.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, DepotError> {
        let (digest, size) = (Digest::of(bytes), bytes.len() as u64);
        if self.blob_size(&digest) == Some(size) {
            return Ok(digest);
        }
        let _flight = self.flight(Key::Blob(digest.clone()), &|| false)?;
        if self.blob_size(&digest) != Some(size) {
            let mut ingest = self.ingest(&digest, size)?;
            ingest.restart()?;
            ingest.append(bytes)?;
            ingest.commit()?;
        }
        Ok(digest)
    }

    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.room(BLOBS).join(digest.hex())
    }
}
