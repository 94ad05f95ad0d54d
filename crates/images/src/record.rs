//! What is known of each image, in one small file per image: looking at images reads no blob.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use os::lock::{Held, Mode};
use serde::{Deserialize, Serialize};

use crate::content::{At, Content, DepotError, INDEX_LOCK, RECORDS, USED, if_there};
use crate::digest::Digest;
use crate::document::{Platform, Runs};
use crate::fail;

/// One image of this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The configuration's digest.
    pub id: Digest,
    pub config_size: u64,
    pub manifest: Digest,
    pub manifest_size: u64,
    pub media_type: Option<String>,
    /// The lowest first.
    pub layers: Vec<Layer>,
    pub platform: Platform,
    pub runs: Runs,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// As the configuration says it.
    pub created: Option<String>,
    /// Seconds since 1970.
    pub pulled: u64,
    pub form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Layer {
    pub digest: Digest,
    pub diff_id: Digest,
    /// Compressed.
    pub size: u64,
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// How an image stands on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Form {
    /// Its blobs only.
    Packed,
    /// One directory per layer.
    Layers,
    /// One directory.
    Flat,
}

/// A record's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    v: u32,
    #[serde(flatten)]
    record: Arc<Record>,
}

const VERSION: u32 = 1;

// === impl Content ===

impl Content {
    /// Every image, by id.
    pub fn records(&self) -> Result<Vec<Arc<Record>>, DepotError> {
        let dir = self.room(RECORDS);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            let name = entry.at("list", &dir)?.file_name();
            let hex = name.to_str().and_then(|name| name.strip_suffix(".json"));
            if let Some(id) = hex.and_then(Digest::from_hex) {
                found.extend(self.record(&id)?);
            }
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    pub fn record(&self, id: &Digest) -> Result<Option<Arc<Record>>, DepotError> {
        let path = self.record_path(id);
        match self.cached_records().read(&path)? {
            None => Ok(None),
            Some(kept) if kept.v == VERSION => Ok(Some(kept.record.clone())),
            Some(kept) => Err(DepotError::Version { path, found: kept.v, wanted: VERSION }),
        }
    }

    /// Keeps a record, or replaces it. What it names must be there and held by a lease.
    pub fn put_record(&self, record: &Record) -> Result<(), DepotError> {
        let (path, lock) = (self.record_path(&record.id), self.lock_path(INDEX_LOCK));
        let kept = Kept { v: VERSION, record: Arc::new(record.clone()) };
        let bytes = serde_json::to_vec_pretty(&kept)
            .map_err(|source| DepotError::Json { path: path.clone(), source })?;
        self.used(&record.id)?;
        // Of several who pulled it at the same time, all but the first find it written. They look while they hold
        // the lock: before it, all of them would find nothing and write it one after the other.
        let held = Held::take(&lock, Mode::Exclusive).at("lock", &lock)?;
        if self.record(&record.id).is_ok_and(|known| known.as_deref() == Some(record)) {
            return Ok(());
        }
        os::file::write_durable(&path, &bytes).at("write", &path)?;
        drop(held);
        fail::point("record-written");
        Ok(())
    }

    /// Notes that an image is used now: the time of a file that has nothing else in it.
    pub fn used(&self, id: &Digest) -> Result<(), DepotError> {
        self.used_at(id, SystemTime::now())
    }

    pub(crate) fn used_at(&self, id: &Digest, when: SystemTime) -> Result<(), DepotError> {
        let path = self.used_path(id);
        let file = File::options().write(true).create(true).truncate(false).open(&path);
        file.and_then(|file| file.set_modified(when)).at("note the use in", &path)
    }

    pub fn last_used(&self, id: &Digest) -> Result<Option<SystemTime>, DepotError> {
        let path = self.used_path(id);
        if_there(std::fs::metadata(&path).and_then(|found| found.modified())).at("look at", &path)
    }

    pub(crate) fn record_path(&self, id: &Digest) -> PathBuf {
        self.room(RECORDS).join(format!("{}.json", id.hex()))
    }

    pub(crate) fn used_path(&self, id: &Digest) -> PathBuf {
        self.room(USED).join(id.hex())
    }
}

// === impl Record ===

impl Record {
    /// The blobs of the image, each with its size.
    pub fn blobs(&self) -> Vec<(&Digest, u64)> {
        let documents = [(&self.id, self.config_size), (&self.manifest, self.manifest_size)];
        documents.into_iter().chain(self.layers.iter().map(|layer| (&layer.digest, layer.size))).collect()
    }

    /// Everything that a lease for it must name.
    pub fn digests(&self) -> Vec<Digest> {
        let layers = self.layers.iter().flat_map(|layer| [layer.digest.clone(), layer.diff_id.clone()]);
        [self.id.clone(), self.manifest.clone()].into_iter().chain(layers).collect()
    }
}
