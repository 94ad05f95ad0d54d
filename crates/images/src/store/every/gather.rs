//! Which platforms there are: every document below an index, read once.

use std::collections::HashSet;

use sha2::{Digest as _, Sha256};

use super::super::ImageError;
use crate::blobs::{Blobs, ContentError, DEEPEST_INDEX, Root, check, json};
use crate::content::Content;
use crate::digest::Digest;
use crate::document::{Configuration, Descriptor, Document, Index, Manifest, Platform};
use crate::lease::Lease;

/// One platform: its manifest as the root of an image.
pub(super) struct Leaf {
    pub(super) root: Root,
    pub(super) manifest: Manifest,
    pub(super) platform: Platform,
}

/// A walk through an index and those below it.
pub(super) struct Gathering<'a, B: Blobs> {
    blobs: &'a B,
    content: &'a Content,
    /// Which manifests count.
    whole: &'a dyn Fn(&Manifest) -> bool,
    bad: &'a (dyn Fn(B::Error) -> ImageError + Sync),
    /// The manifests, in their order.
    pub(super) leaves: Vec<Leaf>,
    /// The indexes below the first.
    pub(super) indexes: Vec<Digest>,
    /// For what is kept on the way.
    pub(super) lease: Lease,
}

// === impl Gathering ===

impl<'a, B: Blobs> Gathering<'a, B> {
    pub(super) fn new(
        blobs: &'a B,
        content: &'a Content,
        lease: Lease,
        whole: &'a dyn Fn(&Manifest) -> bool,
        bad: &'a (dyn Fn(B::Error) -> ImageError + Sync),
    ) -> Gathering<'a, B> {
        Gathering { blobs, content, whole, bad, leaves: Vec::new(), indexes: Vec::new(), lease }
    }

    /// A document and all below it.
    pub(super) fn document(&mut self, root: Root, depth: usize) -> Result<(), ImageError> {
        if depth > DEEPEST_INDEX {
            return Err((self.bad)(ContentError::TooDeep.into()));
        }
        match json("the image's index", &root.bytes).map_err(|e| (self.bad)(e.into()))? {
            Document::Manifest(manifest) if (self.whole)(&manifest) => self.leaf(root, manifest),
            Document::Manifest(_) => Ok(()),
            Document::Index(index) => {
                if depth > 0 {
                    // Whoever saves or pushes all platforms wants these too.
                    let digest = self.keep(&root.bytes)?;
                    self.indexes.push(digest);
                }
                self.below(&index, depth)
            }
        }
    }

    fn below(&mut self, Index { manifests }: &Index, depth: usize) -> Result<(), ImageError> {
        let mut seen = HashSet::new();
        for entry in manifests.iter().filter(|entry| seen.insert(&entry.digest)) {
            if let Some(root) = self.read(entry)? {
                self.document(root, depth + 1)?;
            }
        }
        Ok(())
    }

    /// A document of an index, unless it is one of those that are not here.
    fn read(&self, entry: &Descriptor) -> Result<Option<Root>, ImageError> {
        let bytes = match self.blobs.manifest(entry) {
            Err(error) if is_missing(&error) => return Ok(None),
            other => other.map_err(self.bad)?,
        };
        check(&entry.digest, &Sha256::digest(&bytes)).map_err(|e| (self.bad)(e.into()))?;
        Ok(Some(Root { bytes, media_type: entry.media_type.clone() }))
    }

    /// The configuration says the platform better than the index does; it is wanted in any case, and kept at once.
    fn leaf(&mut self, root: Root, manifest: Manifest) -> Result<(), ImageError> {
        let bytes = self.blobs.document(&manifest.config).map_err(self.bad)?;
        let config: Configuration =
            json(&manifest.config.digest, &bytes).map_err(|e| (self.bad)(e.into()))?;
        self.keep(&bytes)?;
        self.leaves.push(Leaf { root, manifest, platform: config.platform });
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<Digest, ImageError> {
        self.lease.add(&[Digest::of(bytes)])?;
        Ok(self.content.put(bytes)?)
    }
}

fn is_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ContentError::Missing(_)))
}
