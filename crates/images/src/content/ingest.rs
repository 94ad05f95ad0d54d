//! A blob on its way: written and hashed in one pass, continued after a crash, named only when it is right.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::{At, Content, DepotError, INGEST, Key};
use crate::digest::Digest;
use crate::fail;

/// A blob that is being written. Dropped before it is whole, it stays for who continues it.
#[derive(Debug)]
pub struct Ingest {
    digest: Digest,
    size: u64,
    file: File,
    path: PathBuf,
    place: PathBuf,
    hash: Sha256,
    offset: u64,
    /// How much was there when it was opened.
    resumed: u64,
}

const PART: usize = 256 << 10;

// === impl Content ===

impl Content {
    /// Begins a blob, or goes on where another process died: what is there is hashed again. The caller holds the
    /// blob's flight.
    pub fn ingest(&self, digest: &Digest, size: u64) -> Result<Ingest, DepotError> {
        self.must_fly(Key::Blob(digest.clone()))?;
        let (path, place) = (self.ingest_path(digest), self.blob_path(digest));
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.at("open", &path)?;
        let hash = Sha256::new();
        let digest = digest.clone();
        let mut ingest = Ingest { digest, size, file, path, place, hash, offset: 0, resumed: 0 };
        ingest.resume()?;
        Ok(ingest)
    }

    pub(crate) fn ingest_path(&self, digest: &Digest) -> PathBuf {
        self.room(INGEST).join(digest.hex())
    }
}

// === impl Ingest ===

impl Ingest {
    /// How many bytes are there: the next one wanted.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn append(&mut self, bytes: &[u8]) -> Result<(), DepotError> {
        let end = self.offset + bytes.len() as u64;
        if end > self.size {
            return Err(DepotError::TooLong { digest: self.digest.clone(), size: self.size });
        }
        self.file.write_all(bytes).at("write", &self.path)?;
        self.hash.update(bytes);
        self.offset = end;
        fail::point("blob-part");
        Ok(())
    }

    /// Forgets what is there.
    pub fn restart(&mut self) -> Result<(), DepotError> {
        self.file.set_len(0).and_then(|()| self.file.rewind()).at("empty", &self.path)?;
        self.hash = Sha256::new();
        (self.offset, self.resumed) = (0, 0);
        Ok(())
    }

    /// Puts on the disk what is there: [`Ingest::commit`] then has less to wait for.
    pub(crate) fn sync(&self) -> Result<(), DepotError> {
        self.file.sync_all().at("sync", &self.path)
    }

    /// Gives the blob its name, if it is what was wanted. A damaged one is removed; one that is too short stays for
    /// the rest to come.
    pub fn commit(mut self) -> Result<File, DepotError> {
        if self.offset != self.size {
            let (digest, size, found) = (self.digest, self.size, self.offset);
            return Err(DepotError::Short { digest, size, found });
        }
        let found = Digest::from_hash(&std::mem::take(&mut self.hash).finalize());
        if found != self.digest {
            os::file::remove(&self.path).at("remove", &self.path)?;
            return Err(DepotError::Damaged { wanted: self.digest, found, resumed: self.resumed });
        }
        // Before it has its name: after power loss a blob with a name must be whole.
        self.sync()?;
        fail::point("blob-synced");
        self.name()
    }

    fn name(self) -> Result<File, DepotError> {
        let Ingest { file, path, place, .. } = self;
        // Windows renames no file that its owner has open for writing without saying so.
        drop(file);
        os::file::rename(&path, &place).at("rename to", &place)?;
        fail::point("blob-committed");
        File::open(&place).at("open", &place)
    }

    fn resume(&mut self) -> Result<(), DepotError> {
        let there = self.file.metadata().at("look at", &self.path)?.len();
        if there > self.size {
            return self.restart();
        }
        self.offset = self.hash_again().at("read", &self.path)?;
        self.resumed = self.offset;
        Ok(())
    }

    fn hash_again(&mut self) -> io::Result<u64> {
        let mut buffer = vec![0; PART];
        let mut offset = 0;
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => {
                    self.hash.update(&buffer[..read]);
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.file.seek(SeekFrom::Start(offset))?;
        Ok(offset)
    }
}
