//! What of the store belongs to an image that is to be saved.

use std::collections::BTreeSet;

use super::super::TransferError;
use super::super::layout::{self, Entry};
use super::{Chosen, Platforms, SavedImage};
use crate::blobs::{ContentError, DEEPEST_INDEX, configuration, json};
use crate::content::{Content, DepotError};
use crate::digest::Digest;
use crate::document::{Descriptor, Document, Manifest};
use crate::platform::{Host, Isolation, NoMatch};
use crate::reference::Reference;

/// One image with everything that belongs to it, leaves first.
#[derive(Debug)]
pub(super) struct Plan {
    index: bool,
    pub(super) label: String,
    pub(super) name: Option<Reference>,
    pub(super) root: Entry,
    pub(super) parts: Vec<Digest>,
}

// === impl Plan ===

impl Plan {
    pub(super) fn make(
        content: &Content,
        image: &Chosen,
        platforms: &Platforms,
    ) -> Result<Plan, TransferError> {
        let label = image.name.as_ref().map_or_else(|| image.target.as_str().to_owned(), ToString::to_string);
        let all = matches!(platforms, Platforms::All);
        let search = Search { content, label: &label, all };
        let root = search.root(&image.target, platforms)?;
        let mut parts = Vec::new();
        search.gather(&root, 0, &mut parts)?;
        let mut seen = BTreeSet::new();
        parts.retain(|digest: &Digest| seen.insert(digest.as_str().to_owned()));
        let index = matches!(json(root.as_str(), &search.document(&root)?)?, Document::Index(_));
        let root = search.entry(&root)?;
        Ok(Plan { index, label, name: image.name.clone(), root, parts })
    }

    /// Whether it is several platforms.
    pub(super) fn is_index(&self) -> bool {
        self.index
    }

    pub(super) fn saved(&self, content: &Content) -> SavedImage {
        SavedImage {
            name: self.name.as_ref().map(ToString::to_string),
            digest: self.root.digest.clone(),
            bytes: self.parts.iter().filter_map(|digest| content.blob_size(digest)).sum(),
        }
    }
}

/// Looks an image up in the store.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) content: &'a Content,
    pub(super) label: &'a str,
    pub(super) all: bool,
}

// === impl Search ===

impl Search<'_> {
    fn root(&self, target: &Digest, platforms: &Platforms) -> Result<Digest, TransferError> {
        let Platforms::Of(host) = platforms else { return Ok(target.clone()) };
        self.picked(target, host)
    }

    fn picked(&self, target: &Digest, host: &Host) -> Result<Digest, TransferError> {
        let mut digest = target.clone();
        for _ in 0..=DEEPEST_INDEX {
            let mut index = match json(digest.as_str(), &self.document(&digest)?)? {
                Document::Index(index) => index,
                Document::Manifest(manifest) => return self.fits(&manifest, host).map(|()| digest),
            };
            // Only what was pulled can be saved; if nothing fits, everything on offer is named.
            let stored = |entry: &Descriptor| {
                Digest::parse(&entry.digest).is_ok_and(|d| self.content.blob_size(&d).is_some())
            };
            if index.manifests.iter().any(stored) {
                index.manifests.retain(stored);
            }
            let picked = index.pick(host, Isolation::HostProcess).map_err(|none| self.unfit(none))?;
            digest = Digest::parse(&picked.digest)?;
        }
        Err(ContentError::TooDeep.into())
    }

    /// A name may lead to one image, and that one be of another platform.
    fn fits(&self, manifest: &Manifest, host: &Host) -> Result<(), TransferError> {
        let config = Digest::parse(&manifest.config.digest)?;
        match configuration(config.as_str(), &self.document(&config)?, host, Isolation::HostProcess) {
            Err(ContentError::Platform(none)) => Err(self.unfit(none)),
            read => Ok(read.map(drop)?),
        }
    }

    fn unfit(&self, source: NoMatch) -> TransferError {
        TransferError::Platform { name: self.label.to_owned(), source }
    }

    fn gather(&self, digest: &Digest, depth: usize, parts: &mut Vec<Digest>) -> Result<(), TransferError> {
        if depth > DEEPEST_INDEX {
            return Err(ContentError::TooDeep.into());
        }
        if parts.contains(digest) {
            return Ok(());
        }
        match json(digest.as_str(), &self.document(digest)?)? {
            Document::Index(index) => {
                for entry in &index.manifests {
                    self.gather(&Digest::parse(&entry.digest)?, depth + 1, parts)?;
                }
            }
            Document::Manifest(manifest) => {
                for blob in manifest.layers.iter().chain([&manifest.config]) {
                    let blob = Digest::parse(&blob.digest)?;
                    self.content.blob_size(&blob).ok_or_else(|| self.missing(&blob))?;
                    parts.push(blob);
                }
            }
        }
        parts.push(digest.clone());
        Ok(())
    }

    pub(super) fn document(&self, digest: &Digest) -> Result<Vec<u8>, TransferError> {
        match self.content.document(digest) {
            Err(DepotError::Damaged { wanted, found, .. }) => {
                Err(ContentError::Damaged { wanted: wanted.to_string(), found: found.to_string() }.into())
            }
            read => read?.ok_or_else(|| self.missing(digest)),
        }
    }

    /// How `index.json` lists it.
    fn entry(&self, digest: &Digest) -> Result<Entry, TransferError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Typed {
            media_type: Option<String>,
        }
        let bytes = self.document(digest)?;
        let Typed { media_type } = json(digest.as_str(), &bytes)?;
        let otherwise = match json(digest.as_str(), &bytes)? {
            Document::Index(_) => layout::INDEX_TYPE,
            Document::Manifest(_) => layout::MANIFEST_TYPE,
        };
        let kind = media_type.as_deref().unwrap_or(otherwise);
        Ok(Entry::new(kind, digest.as_str().to_owned(), bytes.len() as u64))
    }

    fn missing(&self, digest: &Digest) -> TransferError {
        let (name, digest) = (self.label.to_owned(), digest.as_str().to_owned());
        TransferError::NotStored { name, digest, all: self.all }
    }
}
