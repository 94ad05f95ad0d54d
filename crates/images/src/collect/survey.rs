//! Everything that is in the store and why, at one moment: taken while nobody can get a lease or a pin.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Candidate;
use super::leads::Leads;
use crate::content::{BLOBS, Content, DepotError, Key, Kind};
use crate::digest::Digest;
use crate::names::Named;
use crate::record::{Form, Record};

#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) records: Vec<Arc<Record>>,
    pub(crate) names: BTreeMap<String, Named>,
    pub(super) leads: Leads,
    /// Containers, by the image they use.
    pub(crate) users: BTreeMap<Digest, Vec<String>>,
    /// Images that containers use and of which there is no record: what they are made of, nobody can tell.
    pub(crate) lost: Vec<Digest>,
    /// By pulls and others under way.
    pub(crate) held: BTreeSet<Digest>,
    pub(crate) parts: Vec<Part>,
}

/// A blob, layer or flat image that is there.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) key: Key,
    pub(crate) size: u64,
    /// Names in the file system, as far as they are known.
    pub(crate) inodes: u64,
}

// === impl Content ===

impl Content {
    /// What there is, with sizes: from the directory of blobs and from notes, without walking any tree. Blobs come
    /// last, and go last: a removal that is killed leaves no layer without the blob it can be made from again.
    pub(crate) fn parts(&self) -> Result<Vec<Part>, DepotError> {
        let mut found = Vec::new();
        for kind in Kind::ALL {
            for digest in self.names_in(kind.room())? {
                let note = self.note(kind, &digest)?;
                let (size, inodes) = note.map_or((0, 0), |note| (note.size, note.entries));
                found.push(Part { key: kind.key(&digest), size, inodes });
            }
        }
        found.extend(self.blob_parts()?);
        Ok(found)
    }

    fn blob_parts(&self) -> Result<Vec<Part>, DepotError> {
        let mut found = Vec::new();
        for digest in self.names_in(BLOBS)? {
            // One that has gone meanwhile is no part any more.
            if let Some(size) = self.blob_size(&digest) {
                found.push(Part { key: Key::Blob(digest), size, inodes: 1 });
            }
        }
        Ok(found)
    }

    /// Since when a part is here. Of what is unpacked the note says it: its directory changes when it is settled.
    pub(super) fn came(&self, key: &Key) -> Option<SystemTime> {
        let path = match key {
            Key::Blob(digest) => self.blob_path(digest),
            Key::Layer(digest) => self.note_path(Kind::Layer, digest),
            Key::Flat(digest) => self.note_path(Kind::Flat, digest),
        };
        std::fs::metadata(path).and_then(|found| found.modified()).ok()
    }

    pub(crate) fn path_of(&self, key: &Key) -> PathBuf {
        match key {
            Key::Blob(digest) => self.blob_path(digest),
            Key::Layer(digest) => self.place(Kind::Layer, digest),
            Key::Flat(digest) => self.place(Kind::Flat, digest),
        }
    }
}

// === impl Survey ===

impl Survey {
    /// The caller has the lock of collections.
    pub(crate) fn of(content: &Content) -> Result<Survey, DepotError> {
        // Leases first: of one that ends from now on, the record and the name are there already.
        let held = content.held()?;
        let (records, users) = (content.records()?, content.users()?);
        let (names, parts) = (content.names().all()?, content.parts()?);
        let leads = Leads::of(content, &names, &records, &parts)?;
        let is_known = |id: &Digest| records.iter().any(|record| record.id == *id);
        let lost = users.keys().filter(|id| !is_known(id)).cloned().collect();
        Ok(Survey { records, names, leads, users, lost, held, parts })
    }

    /// The same, but nothing if a record or the names cannot be read: then nobody knows what belongs to whom.
    pub(crate) fn of_readable(content: &Content) -> Result<Option<Survey>, DepotError> {
        match Survey::of(content) {
            Err(DepotError::Json { .. } | DepotError::Version { .. }) => Ok(None),
            other => other.map(Some),
        }
    }

    /// What images are made of, with the indexes that a name led through and all manifests that it leads to.
    pub(crate) fn wanted(&self) -> HashSet<Key> {
        self.records.iter().flat_map(|record| self.parts_of(record)).collect()
    }

    pub(crate) fn parts_of(&self, record: &Record) -> Vec<Key> {
        let targets = self.names.values().filter(|named| named.id == record.id);
        let blobs = record.blobs().into_iter().map(|(digest, _)| digest);
        let named = targets.flat_map(Named::documents).chain(self.leads.blobs(&record.id));
        let mut keys: Vec<Key> = blobs.chain(named).cloned().map(Key::Blob).collect();
        // One that is unpacked whole was only tried with them; but a container may have begun when it was not.
        if record.form != Form::Flat || self.users.contains_key(&record.id) {
            keys.extend(record.layers.iter().map(|layer| Key::Layer(layer.diff_id.clone())));
        }
        keys.push(Key::Flat(record.id.clone()));
        let mut seen = HashSet::new();
        keys.retain(|key| seen.insert(key.clone()));
        keys
    }

    /// While an image is lost, everything stays: each part may be one that its containers stand on. The next pull of
    /// it brings its record again.
    pub(crate) fn keeps(&self, key: &Key, wanted: &HashSet<Key>) -> bool {
        self.is_blind() || wanted.contains(key) || self.held.contains(key.digest())
    }

    /// Whether a container uses nobody knows what.
    pub(crate) fn is_blind(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The images as the policy sees them, in the order of the records. Parts that somebody holds free nothing.
    pub(super) fn candidates(
        &self,
        content: &Content,
        now: SystemTime,
    ) -> Result<Vec<Candidate<Key>>, DepotError> {
        let sizes: HashMap<&Key, u64> = self.parts.iter().map(|part| (&part.key, part.size)).collect();
        let free = |key: &Key| if self.held.contains(key.digest()) { None } else { sizes.get(key).copied() };
        let since = |when: SystemTime| now.duration_since(when).unwrap_or_default();
        let candidate = |record: &Arc<Record>| {
            let pulled = UNIX_EPOCH + Duration::from_secs(record.pulled);
            let used = content.last_used(&record.id)?.unwrap_or(pulled);
            let parts =
                self.parts_of(record).into_iter().filter_map(|key| free(&key).map(|size| (key, size)));
            Ok(Candidate {
                parts: parts.collect(),
                unused: since(used),
                age: since(pulled),
                in_use: self.in_use(&record.id),
            })
        };
        self.records.iter().map(candidate).collect()
    }

    fn in_use(&self, id: &Digest) -> bool {
        self.users.contains_key(id) || self.held.contains(id)
    }
}
