//! What nothing needs any more when names and images go: worked out on a survey, before anything is touched.

use std::collections::HashSet;
use std::sync::Arc;

use super::survey::{Part, Survey};
use crate::content::{DepotError, Key};
use crate::digest::Digest;
use crate::record::Record;

// === impl Survey ===

impl Survey {
    /// Takes an image out; what only it was made of comes back.
    pub(super) fn forget(&mut self, id: &Digest) -> Vec<Part> {
        let (gone, rest) = std::mem::take(&mut self.records).into_iter().partition(|record| record.id == *id);
        let gone: Vec<Arc<Record>> = gone;
        let mut keys: HashSet<Key> = gone.iter().flat_map(|record| self.parts_of(record)).collect();
        self.records = rest;
        keys.extend(self.forget_names(&self.names_of(id)));
        self.release(&keys)
    }

    /// Takes names out; what they led to comes back, also what others need.
    pub(super) fn forget_names(&mut self, names: &[String]) -> HashSet<Key> {
        let mut keys = HashSet::new();
        for named in names.iter().filter_map(|name| self.names.remove(name)) {
            let led = self.leads.below(&named).flat_map(|(_, blobs)| blobs);
            keys.extend(named.documents().chain(led).cloned().map(Key::Blob));
        }
        self.leads.keep(&self.names);
        keys
    }

    /// Takes those of these parts out that nothing needs any more.
    pub(super) fn release(&mut self, keys: &HashSet<Key>) -> Vec<Part> {
        let wanted = self.wanted();
        let (free, kept) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|part| keys.contains(&part.key) && !self.keeps(&part.key, &wanted));
        self.parts = kept;
        free
    }

    /// Whether other names are the image's, or lead to it as one of their platforms.
    pub(super) fn is_led_to_without(&self, name: &str, id: &Digest) -> bool {
        self.names.iter().any(|(other, named)| other != name && self.leads.has(named, id))
    }

    /// The images that a name leads to.
    pub(super) fn platforms_of(&self, name: &str) -> Vec<Digest> {
        let named = self.names.get(name).into_iter();
        named.flat_map(|named| self.leads.below(named)).map(|(image, _)| image.clone()).collect()
    }

    /// Of an image that is here: no name leads to it, and nobody uses it.
    pub(super) fn is_unneeded(&self, id: &Digest) -> bool {
        let is_called = self.names.values().any(|named| self.leads.has(named, id));
        self.records.iter().any(|record| record.id == *id) && !is_called && self.must_be_free(id).is_ok()
    }

    pub(super) fn names_of(&self, id: &Digest) -> Vec<String> {
        self.names.iter().filter(|(_, named)| named.id == *id).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn must_be_free(&self, id: &Digest) -> Result<(), DepotError> {
        let mut by = self.users.get(id).cloned().unwrap_or_default();
        by.extend(self.held.contains(id).then(|| "a pull under way".to_owned()));
        if by.is_empty() { Ok(()) } else { Err(DepotError::InUse { image: id.clone(), by }) }
    }
}
