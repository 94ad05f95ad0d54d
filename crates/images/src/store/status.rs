//! What is known of the images that are here, without reading any of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::{ImageError, Store};
use crate::content::{Content, DepotError};
use crate::digest::Digest;
use crate::document::Platform;
use crate::names::Named;
use crate::record::{Form, Record};
use crate::reference::Reference;

/// One image of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The configuration's digest.
    pub id: Digest,
    pub manifest: Digest,
    pub names: Vec<String>,
    /// By which a registry gives the same again: `REGISTRY/REPOSITORY@DIGEST`.
    pub repo_digests: Vec<String>,
    /// What its blobs that are here take.
    pub packed: u64,
    /// What its files that are here take. Layers that other images have too are counted for each.
    pub unpacked: u64,
    pub form: Form,
    /// As the image says it: a name or a number, with a group or without.
    pub user: String,
    pub platform: Platform,
    pub created: Option<String>,
    /// Seconds since 1970.
    pub pulled: u64,
    pub used: Option<SystemTime>,
    pub in_use_by: Vec<String>,
    pub record: Arc<Record>,
}

/// What is known of all images in one place, by image: read once for a list.
struct OfAll {
    /// Names with what they lead to.
    named: BTreeMap<Digest, Vec<(String, Digest)>>,
    users: BTreeMap<Digest, Vec<String>>,
}

/// A beginning of an id that is shorter could mean anything.
const SHORTEST_ID: usize = 4;

// === impl Store ===

impl Store {
    /// Every image, by id.
    pub fn list(&self) -> Result<Vec<Status>, ImageError> {
        let of_all = OfAll::read(&self.content)?;
        self.content.records()?.into_iter().map(|record| self.told(record, &of_all)).collect()
    }

    /// The image of this name or id; of an id, as much as tells it from others.
    pub fn status(&self, name_or_id: &str) -> Result<Option<Status>, ImageError> {
        let told = |record| self.told(record, &OfAll::read(&self.content)?);
        self.find(name_or_id)?.map(told).transpose()
    }

    /// A name that is written like an id is a name: ids can be written in full.
    pub(super) fn find(&self, text: &str) -> Result<Option<Arc<Record>>, ImageError> {
        if let Ok(reference) = Reference::parse(text)
            && let Some(id) = self.named(&reference)?
        {
            return Ok(self.content.record(&id)?);
        }
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if hex.len() < SHORTEST_ID {
            return Ok(None);
        }
        let mut found = self.content.records()?;
        found.retain(|record| record.id.hex().starts_with(hex));
        if found.len() > 1 {
            let images = found.iter().map(|record| record.id.clone()).collect();
            return Err(DepotError::Ambiguous { text: text.to_owned(), images }.into());
        }
        Ok(found.pop())
    }

    /// The image that a name means: what was pulled under it, or under another name of the same digest.
    pub(super) fn named(&self, reference: &Reference) -> Result<Option<Digest>, ImageError> {
        if let Some(named) = self.content.names().get(reference)? {
            return Ok(Some(named.id));
        }
        let Some(digest) = reference.digest() else { return Ok(None) };
        let repository = |other: &Reference| {
            (other.registry(), other.repository()) == (reference.registry(), reference.repository())
        };
        let same = |name: &str| Reference::parse(name).is_ok_and(|other| repository(&other));
        let all = self.content.names().all()?;
        let mut fits = all.iter().filter(|(name, named)| named.target.as_str() == digest && same(name));
        Ok(fits.next().map(|(_, named)| named.id.clone()))
    }

    fn told(&self, record: Arc<Record>, of_all: &OfAll) -> Result<Status, ImageError> {
        let id = record.id.clone();
        let named = of_all.named.get(&id).map(Vec::as_slice).unwrap_or_default();
        let mut repo_digests: Vec<_> =
            named.iter().filter_map(|(name, target)| repo_digest(name, target)).collect();
        repo_digests.sort();
        repo_digests.dedup();
        Ok(Status {
            manifest: record.manifest.clone(),
            names: named.iter().map(|(name, _)| name.clone()).collect(),
            repo_digests,
            packed: record.blobs().iter().filter_map(|(digest, _)| self.content.blob_size(digest)).sum(),
            unpacked: self.unpacked_size(&record)?,
            form: record.form,
            user: record.runs.user.clone(),
            platform: record.platform.clone(),
            created: record.created.clone(),
            pulled: record.pulled,
            used: self.content.last_used(&id)?,
            in_use_by: of_all.users.get(&id).cloned().unwrap_or_default(),
            record,
            id,
        })
    }

    fn unpacked_size(&self, record: &Record) -> Result<u64, ImageError> {
        if record.form == Form::Flat {
            return Ok(self.content.flat(&record.id)?.map_or(0, |flat| flat.note.size));
        }
        let mut diff_ids: Vec<_> = record.layers.iter().map(|layer| &layer.diff_id).collect();
        diff_ids.sort();
        diff_ids.dedup();
        diff_ids.into_iter().try_fold(0, |sum, diff_id| {
            Ok(sum + self.content.layer(diff_id)?.map_or(0, |layer| layer.note.size))
        })
    }
}

// === impl OfAll ===

impl OfAll {
    fn read(content: &Content) -> Result<OfAll, ImageError> {
        let mut named = BTreeMap::<_, Vec<_>>::new();
        for (name, Named { id, target, .. }) in content.names().all()? {
            named.entry(id).or_default().push((name, target));
        }
        Ok(OfAll { named, users: content.users()? })
    }
}

fn repo_digest(name: &str, target: &Digest) -> Option<String> {
    let reference = Reference::parse(name).ok()?;
    Some(format!("{}/{}@{target}", reference.registry(), reference.repository()))
}
