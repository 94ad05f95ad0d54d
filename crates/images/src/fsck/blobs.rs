//! Blobs against their names.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::{Findings, Outcome, Problem};
use crate::content::{At, BLOBS, Content, DepotError, Key};
use crate::digest::Digest;

const PART: usize = 1 << 20;

// === impl Content ===

impl Content {
    pub(super) fn check_blobs(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        for digest in self.names_in(BLOBS)? {
            // One that went meanwhile was removed by somebody who may.
            let Some((found, size)) = self.hash(&digest)? else { continue };
            findings.blobs += 1;
            findings.bytes += size;
            if found != digest {
                let outcome = if repair { self.drop_damaged(&digest)? } else { Outcome::Left };
                findings.add(self.blob_path(&digest), Problem::DamagedBlob { found }, outcome);
            }
        }
        Ok(())
    }

    /// Looked at once more while nobody can be writing it: a right one may have come in between.
    fn drop_damaged(&self, digest: &Digest) -> Result<Outcome, DepotError> {
        let _flight = self.flight(Key::Blob(digest.clone()), &|| false)?;
        if self.hash(digest)?.is_some_and(|(found, _)| found != *digest) {
            self.discard(&self.blob_path(digest))?;
        }
        Ok(Outcome::Removed)
    }

    fn hash(&self, digest: &Digest) -> Result<Option<(Digest, u64)>, DepotError> {
        let Some(mut file) = self.blob(digest)? else { return Ok(None) };
        let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; PART]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(Some((Digest::from_hash(&hash.finalize()), size))),
                Ok(read) => {
                    hash.update(&buffer[..read]);
                    size += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).at("read", &self.blob_path(digest)),
            }
        }
    }
}
