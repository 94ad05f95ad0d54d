//! The content store: blobs, unpacked layers and records of images, shared by every porthole process on this host.
//!
//! There is no database and no lock over the whole: things are made beside their place and renamed into it, so they
//! are complete or absent; who makes one holds a file lock that ends with the process. `docs/decisions` says what
//! that guarantees after a kill and after power loss.
//!
//! | module | what it knows |
//! |---|---|
//! | `flight` | one maker for each thing |
//! | `blob`, `ingest` | bytes, checked on their way to their name |
//! | `unpacked` | layers and flat images |
//! | `settle` | which of them have reached the disk |
//! | `trash` | things go at once, and are deleted later |
//! | `cache` | small files, read once |
//! | [`crate::record`], [`crate::names`] | which images there are, and what they are called |
//! | [`crate::lease`], [`crate::collect`], [`crate::fsck`] | what must stay, what may go, what is damaged |

mod blob;
mod cache;
mod error;
mod flight;
mod ingest;
mod measure;
mod settle;
mod trash;
mod unpacked;

#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::DepotError;
pub use flight::{Flight, Key};
pub use ingest::Ingest;
pub use unpacked::{Note, Unfinished, Unpacked};

pub(crate) use cache::Cache;
pub(crate) use error::{At, if_there};
pub(crate) use measure::measure;
pub(crate) use trash::INDEX_LOCK;
pub(crate) use unpacked::{Kind, is_settled};

use crate::collect::Listing;
use crate::digest::Digest;
use crate::names::Names;
use crate::record::Kept;
use settle::Settler;
use unpacked::NoteFile;

/// The store in one directory. Clones share what was read.
#[derive(Debug, Clone)]
pub struct Content {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    /// Of this boot: what another boot wrote and did not sync is not trusted.
    boot: String,
    names: Names,
    records: Cache<Kept>,
    /// Of manifests and indexes.
    listings: Cache<Listing>,
    notes: Cache<NoteFile>,
    settler: Settler,
}

pub(crate) const BLOBS: &str = "blobs/sha256";
pub(crate) const INGEST: &str = "ingest";
const LAYERS: &str = "layers";
const FLAT: &str = "flat";
const LOCKS: &str = "locks";
const TRASH: &str = "trash";
pub(crate) const RECORDS: &str = "records";
pub(crate) const USED: &str = "used";
pub(crate) const LEASES: &str = "leases";
pub(crate) const PINS: &str = "pins";
pub(crate) const ROOMS: [&str; 10] = [BLOBS, INGEST, LAYERS, FLAT, LOCKS, TRASH, RECORDS, USED, LEASES, PINS];

// === impl Content ===

impl Content {
    /// Opens the store, makes it if it is not there, and removes what processes that died left half done.
    pub fn open(dir: &Path) -> Result<Content, DepotError> {
        let boot = os::host::boot_id().map_err(DepotError::Boot)?;
        Content::open_in(dir, boot)
    }

    fn open_in(dir: &Path, boot: String) -> Result<Content, DepotError> {
        os::file::make_private_dir(dir).at("make", dir)?;
        for room in ROOMS {
            let path = dir.join(room);
            std::fs::create_dir_all(&path).at("make", &path)?;
        }
        let (records, listings, notes) = (Cache::default(), Cache::default(), Cache::default());
        let (names, settler) = (Names::of(dir), Settler::default());
        let inner = Inner { dir: dir.to_owned(), boot, names, records, listings, notes, settler };
        let content = Content { inner: Arc::new(inner) };
        content.sweep_leftovers()?;
        Ok(content)
    }

    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    pub fn names(&self) -> &Names {
        &self.inner.names
    }

    pub(crate) fn room(&self, name: &str) -> PathBuf {
        self.inner.dir.join(name)
    }

    pub(crate) fn lock_path(&self, name: &str) -> PathBuf {
        self.room(LOCKS).join(name)
    }

    pub(crate) fn cached_records(&self) -> &Cache<Kept> {
        &self.inner.records
    }

    pub(crate) fn cached_listings(&self) -> &Cache<Listing> {
        &self.inner.listings
    }
}

/// Digests as people read them in a sentence.
pub(crate) fn listed(digests: &[Digest]) -> String {
    digests.iter().map(Digest::as_str).collect::<Vec<_>>().join(", ")
}
