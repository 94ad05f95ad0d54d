//! Every platform of an image, from a registry or from blobs that are here already.
//!
//! Each platform is an image of its own with a record of its own; the name leads to the one for the host and, as its
//! target, to the index of all of them. Those that are not the host's stay packed: they are there to be saved and
//! pushed.

mod origin;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{ImageError, Store, Wanted, from_registry};
use crate::blobs::{Blobs, ContentError, DEEPEST_INDEX, Root, check, json};
use crate::collect::Removed;
use crate::content::DepotError;
use crate::digest::Digest;
use crate::document::{Configuration, Descriptor, Document, Index, Manifest, Platform};
use crate::names::Named;
use crate::platform::{self, Candidate, Host};
use crate::progress::Caller;
use crate::pull::Halt;
use crate::record::Record;
use crate::reference::Reference;
use origin::Entry;

pub(crate) use origin::Kept;

/// The platforms that came, and which of them is the host's.
#[derive(Debug, Clone)]
pub struct Every {
    pub records: Vec<Arc<Record>>,
    /// What the name leads to here: the one for the host, or the first.
    pub chosen: usize,
    /// The index, or the only manifest.
    pub target: Digest,
}

/// One platform: its manifest as the root of an image.
struct Leaf {
    root: Root,
    manifest: Manifest,
    platform: Platform,
}

// === impl Store ===

impl Store {
    /// Brings every platform of what a name means now. The host's is unpacked if that is asked for.
    pub fn pull_every(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Every, ImageError> {
        from_registry(reference, wanted, caller, |remote, name, halt, caller, bad| {
            let every = self.every(remote, name, wanted, unpack, &|_| true, (halt, caller), bad)?;
            self.call(std::slice::from_ref(reference), &every)?;
            Ok(every)
        })
    }

    /// Makes images of blobs that are here: those that a file brought, or that were built. Whoever brought them holds
    /// a lease. Platforms of which something is missing are passed over.
    pub fn adopt(
        &self,
        target: &Digest,
        names: &[Reference],
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Every, ImageError> {
        let label = names.first().map_or_else(|| target.to_string(), ToString::to_string);
        let bad = |source| ImageError::Stored { image: target.clone(), source };
        let kept = Kept { content: &self.content, target };
        let here = |blob: &Descriptor| {
            Digest::parse(&blob.digest).is_ok_and(|digest| self.content.blob_size(&digest).is_some())
        };
        let whole = |manifest: &Manifest| manifest.layers.iter().chain([&manifest.config]).all(here);
        let halt = Halt::new(caller);
        let every = self.every(&kept, &label, wanted, unpack, &whole, (&halt, caller), &bad)?;
        self.call(names, &every)?;
        Ok(every)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a pull, named where it is made")]
    fn every<B: Blobs>(
        &self,
        blobs: &B,
        name: &str,
        wanted: &Wanted<'_>,
        unpack: bool,
        whole: &dyn Fn(&Manifest) -> bool,
        (halt, caller): (&Halt<'_>, Caller<'_>),
        bad: &(dyn Fn(B::Error) -> ImageError + Sync),
    ) -> Result<Every, ImageError> {
        let root = blobs.root().map_err(bad)?;
        let target = Digest::of(&root.bytes);
        let _lease = self.content.hold(std::slice::from_ref(&target))?;
        let mut leaves = Vec::new();
        gather(blobs, root.clone(), 0, whole, &mut leaves).map_err(bad)?;
        if leaves.is_empty() {
            return Err(bad(ContentError::Missing(format!("of every platform of {target}")).into()));
        }
        let chosen = pick(&leaves, wanted);
        let mut records = Vec::new();
        for (index, leaf) in leaves.iter().enumerate() {
            let host = host_of(&leaf.platform);
            let entry = Entry { blobs, root: &leaf.root };
            let its = Wanted { host: &host, ..*wanted };
            let unpack = unpack && chosen == Some(index);
            records.push(Arc::new(self.take(&entry, name, &its, unpack, halt, caller, bad)?.record));
        }
        self.content.put(&root.bytes)?;
        Ok(Every { records, chosen: chosen.unwrap_or_default(), target })
    }

    fn call(&self, names: &[Reference], every: &Every) -> Result<(), ImageError> {
        let named = Named { id: every.image().id.clone(), target: every.target.clone() };
        names.iter().try_for_each(|name| Ok(self.content.names().set(name, &named)?))
    }

    /// Removes a name or an image, see [`crate::Content::remove`]; with an image its other platforms, if nothing else is
    /// called or uses them.
    pub fn remove(&self, name_or_id: &str, force: bool) -> Result<Removed, DepotError> {
        let others = self.other_platforms(name_or_id)?;
        let mut removed = self.content.remove(name_or_id, force)?;
        if removed.image.is_none() {
            return Ok(removed);
        }
        let named = self.content.names().all()?;
        for id in others.iter().filter(|id| named.values().all(|named| named.id != **id)) {
            match self.content.remove(id.as_str(), false) {
                Ok(other) => removed.bytes += other.bytes,
                Err(DepotError::InUse { .. } | DepotError::NoImage(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }

    /// The images that the index of a name lists beside the name's own.
    fn other_platforms(&self, name: &str) -> Result<Vec<Digest>, DepotError> {
        let Ok(reference) = Reference::parse(name) else { return Ok(Vec::new()) };
        let Some(named) = self.content.names().get(&reference)? else { return Ok(Vec::new()) };
        let document = self.content.document(&named.target)?;
        let Some(Ok(Document::Index(index))) = document.map(|bytes| serde_json::from_slice(&bytes)) else {
            return Ok(Vec::new());
        };
        let listed =
            |record: &Record| index.manifests.iter().any(|entry| entry.digest == record.manifest.as_str());
        let records = self.content.records()?.into_iter();
        Ok(records
            .filter(|record| record.id != named.id && listed(record))
            .map(|record| record.id.clone())
            .collect())
    }
}

/// The manifests below a root, in its order.
fn gather<B: Blobs>(
    blobs: &B,
    root: Root,
    depth: usize,
    whole: &dyn Fn(&Manifest) -> bool,
    found: &mut Vec<Leaf>,
) -> Result<(), B::Error> {
    if depth > DEEPEST_INDEX {
        return Err(ContentError::TooDeep.into());
    }
    match json("the image's index", &root.bytes)? {
        Document::Manifest(manifest) if whole(&manifest) => {
            let config: Configuration = json(&manifest.config.digest, &blobs.document(&manifest.config)?)?;
            found.push(Leaf { root, manifest, platform: config.platform });
        }
        Document::Manifest(_) => {}
        Document::Index(Index { manifests }) => {
            let mut seen = std::collections::HashSet::new();
            for entry in manifests.iter().filter(|entry| seen.insert(&entry.digest)) {
                let Some(root) = below(blobs, entry)? else { continue };
                gather(blobs, root, depth + 1, whole, found)?;
            }
        }
    }
    Ok(())
}

/// A document of an index, unless it is one of those that are not here.
fn below<B: Blobs>(blobs: &B, entry: &Descriptor) -> Result<Option<Root>, B::Error> {
    let bytes = match blobs.manifest(entry) {
        Err(error) if is_missing(&error) => return Ok(None),
        other => other?,
    };
    check(&entry.digest, &Sha256::digest(&bytes))?;
    Ok(Some(Root { bytes, media_type: entry.media_type.clone() }))
}

fn is_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ContentError::Missing(_)))
}

fn pick(leaves: &[Leaf], wanted: &Wanted<'_>) -> Option<usize> {
    let candidate = |leaf: &Leaf| Candidate {
        digest: leaf.manifest.config.digest.clone(),
        platform: Some(leaf.platform.clone()),
    };
    let candidates: Vec<_> = leaves.iter().map(candidate).collect();
    platform::pick(&candidates, wanted.host, wanted.isolation).ok()
}

fn host_of(platform: &Platform) -> Host {
    let Platform { os, architecture, variant, os_version } = platform.clone();
    Host { os, architecture, variant, os_version }
}

// === impl Every ===

impl Every {
    /// The image that the name leads to here.
    pub fn image(&self) -> &Arc<Record> {
        &self.records[self.chosen]
    }
}
