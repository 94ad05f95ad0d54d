//! Which images names lead to.
//!
//! A record knows one manifest of its image. Names may lead to others: a registry that packs layers anew, or an archive
//! without a manifest, gives another one of the same configuration. What such a manifest lists belongs to the image too,
//! as long as a name leads there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;

use super::survey::Part;
use crate::blobs::{ContentError, LONGEST_DOCUMENT};
use crate::content::{Content, DepotError, Key};
use crate::digest::Digest;
use crate::document::{Descriptor, Document};
use crate::names::Named;
use crate::record::Record;

/// The digests in a document.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Document")]
pub(crate) enum Listing {
    Index(BTreeSet<Digest>),
    Manifest { config: Digest, layers: Vec<Digest> },
}

/// The ways to each image.
#[derive(Debug, Default)]
pub(crate) struct Leads(HashMap<Digest, Vec<Lead>>);

#[derive(Debug)]
struct Lead {
    /// An index or a manifest that a name has.
    document: Digest,
    /// What the manifest lists, with itself; nothing if it is the record's, which knows that.
    blobs: Vec<Digest>,
}

/// An image with the blobs of the manifest that was found.
type Found = (Digest, Vec<Digest>);

struct Search<'a> {
    content: &'a Content,
    /// Images by the manifests that their records know: those need not be read.
    recorded: HashMap<&'a Digest, &'a Digest>,
    /// What is here and may be a document. An index can list anything, also a layer of gigabytes.
    small: HashSet<&'a Digest>,
}

// === impl Leads ===

impl Leads {
    pub(super) fn of(
        content: &Content,
        names: &BTreeMap<String, Named>,
        records: &[Arc<Record>],
        parts: &[Part],
    ) -> Result<Leads, DepotError> {
        let recorded = records.iter().map(|record| (&record.manifest, &record.id)).collect();
        let search = Search { content, recorded, small: parts.iter().filter_map(small_blob).collect() };
        let mut leads = Leads::default();
        for document in names.values().flat_map(Named::documents).collect::<HashSet<_>>() {
            for (image, blobs) in search.images(document)? {
                leads.0.entry(image).or_default().push(Lead { document: document.clone(), blobs });
            }
        }
        Ok(leads)
    }

    /// What belongs to an image besides what its record knows.
    pub(super) fn blobs(&self, image: &Digest) -> impl Iterator<Item = &Digest> {
        self.0.get(image).into_iter().flatten().flat_map(|lead| &lead.blobs)
    }

    /// Whether this name leads to the image, as its own or another platform.
    pub(super) fn has(&self, named: &Named, image: &Digest) -> bool {
        named.id == *image || self.0.get(image).into_iter().flatten().any(|lead| lead.is_of(named))
    }

    /// The images that one name leads to, with what their records do not know.
    pub(super) fn below(&self, named: &Named) -> impl Iterator<Item = (&Digest, &[Digest])> {
        self.0.iter().flat_map(move |(image, leads)| {
            let its = leads.iter().filter(move |lead| lead.is_of(named));
            its.map(move |lead| (image, lead.blobs.as_slice()))
        })
    }

    /// Keeps the ways from these names only.
    pub(super) fn keep(&mut self, names: &BTreeMap<String, Named>) {
        let left: HashSet<&Digest> = names.values().flat_map(Named::documents).collect();
        self.0.retain(|_, leads| {
            leads.retain(|lead| left.contains(&lead.document));
            !leads.is_empty()
        });
    }
}

fn small_blob(part: &Part) -> Option<&Digest> {
    match &part.key {
        Key::Blob(digest) if part.size <= LONGEST_DOCUMENT => Some(digest),
        _ => None,
    }
}

// === impl Lead ===

impl Lead {
    fn is_of(&self, named: &Named) -> bool {
        named.documents().any(|document| *document == self.document)
    }
}

// === impl Search ===

impl Search<'_> {
    /// Those in a document of a name. Indexes below an index are documents of the name themselves.
    fn images(&self, document: &Digest) -> Result<Vec<Found>, DepotError> {
        match self.listing(document)?.as_deref() {
            Some(Listing::Index(entries)) => {
                entries.iter().filter_map(|entry| self.image(entry).transpose()).collect()
            }
            _ => Ok(self.image(document)?.into_iter().collect()),
        }
    }

    fn image(&self, manifest: &Digest) -> Result<Option<Found>, DepotError> {
        if let Some(image) = self.recorded.get(manifest) {
            return Ok(Some(((*image).clone(), Vec::new())));
        }
        Ok(match self.listing(manifest)?.as_deref() {
            Some(Listing::Manifest { config, layers }) => {
                let blobs = [manifest, config].into_iter().chain(layers).cloned().collect();
                Some((config.clone(), blobs))
            }
            _ => None,
        })
    }

    /// Nothing for what is missing or damaged: nobody can tell what it led to, and that keeps nobody from collecting.
    fn listing(&self, digest: &Digest) -> Result<Option<Arc<Listing>>, DepotError> {
        if self.recorded.contains_key(digest) || !self.small.contains(digest) {
            return Ok(None);
        }
        match self.content.cached_listings().read(&self.content.blob_path(digest)) {
            Err(DepotError::Json { .. }) => Ok(None),
            read => read,
        }
    }
}

// === impl Listing ===

impl TryFrom<Document> for Listing {
    type Error = ContentError;

    fn try_from(document: Document) -> Result<Listing, ContentError> {
        let digest = |blob: &Descriptor| Digest::parse(&blob.digest).ok();
        match document {
            Document::Index(index) => Ok(Listing::Index(index.manifests.iter().filter_map(digest).collect())),
            Document::Manifest(manifest) => {
                let config = Digest::parse(&manifest.config.digest)?;
                Ok(Listing::Manifest { config, layers: manifest.layers.iter().filter_map(digest).collect() })
            }
        }
    }
}

#[cfg(test)]
mod tests;
