//! What of a package belongs to an image.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::super::TransferError;
use super::super::layout::{Entry, Index};
use super::{Import, blob_name};
use crate::blobs::{ContentError, DEEPEST_INDEX, check, json, small};
use crate::digest::Digest;
use crate::document::{Document, Manifest};

/// An index may list the same index many times over, and that one again.
const MOST_DOCUMENTS: usize = 10_000;

/// Where the bytes of one blob are.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) digest: Digest,
    pub(super) size: u64,
    pub(super) member: String,
}

/// Each blob once, in the order in which it may become visible.
#[derive(Debug, Default)]
pub(super) struct Parts(pub(super) Vec<Part>, BTreeSet<Digest>);

// === impl Import ===

impl Import<'_> {
    /// Everything that a document leads to and itself, leaves first.
    pub(super) fn walk(&self, entry: &Entry, depth: usize, parts: &mut Parts) -> Result<(), TransferError> {
        if depth > DEEPEST_INDEX {
            return Err(ContentError::TooDeep.into());
        }
        let walked = self.walked.get() + 1;
        if walked > MOST_DOCUMENTS {
            return Err(TransferError::TooManyDocuments {
                what: self.package.what().to_owned(),
                most: MOST_DOCUMENTS,
            });
        }
        self.walked.set(walked);
        let part = Part::of(&entry.digest, entry.size)?;
        let bytes = self.document(&part)?;
        match json(&entry.digest, &bytes)? {
            Document::Manifest(manifest) => self.manifest(&manifest, parts)?,
            Document::Index(_) => self.platforms(json(&entry.digest, &bytes)?, depth, parts)?,
        }
        parts.add(part);
        Ok(())
    }

    /// Those of an index that are there; none is an error, and the first one's is told.
    pub(super) fn platforms(
        &self,
        index: Index,
        depth: usize,
        parts: &mut Parts,
    ) -> Result<(), TransferError> {
        let mut first = None;
        let mut there = false;
        for entry in &index.manifests {
            let mut own = Parts::default();
            match self.walk(entry, depth + 1, &mut own) {
                Ok(()) => {
                    there = true;
                    own.0.into_iter().for_each(|part| parts.add(part));
                }
                Err(error @ TransferError::Missing { .. }) => drop(first.get_or_insert(error)),
                Err(other) => return Err(other),
            }
        }
        match (there, first) {
            (false, Some(error)) => Err(error),
            (false, None) => Err(TransferError::Empty { what: self.package.what().to_owned() }),
            (true, _) => Ok(()),
        }
    }

    fn manifest(&self, manifest: &Manifest, parts: &mut Parts) -> Result<(), TransferError> {
        for blob in manifest.layers.iter().chain([&manifest.config]) {
            let Some(size) = blob.size else {
                return Err(ContentError::Digest(format!("{} without a size", blob.digest)).into());
            };
            let part = Part::of(&blob.digest, size)?;
            if self.content.blob_size(&part.digest).is_none() {
                self.package.member(&part.member)?;
            }
            parts.add(part);
        }
        Ok(())
    }

    /// From the package, or from the store where the package leaves it out.
    fn document(&self, part: &Part) -> Result<Vec<u8>, TransferError> {
        let bytes = match self.package.document(&part.member) {
            Err(missing @ TransferError::Missing { .. }) => {
                let Some(size) = self.content.blob_size(&part.digest) else { return Err(missing) };
                small(&part.member, size)?;
                self.content.document(&part.digest)?.ok_or(missing)?
            }
            other => other?,
        };
        check(part.digest.as_str(), &Sha256::digest(&bytes))?;
        Ok(bytes)
    }
}

// === impl Parts ===

impl Parts {
    fn add(&mut self, part: Part) {
        if self.1.insert(part.digest.clone()) {
            self.0.push(part);
        }
    }
}

// === impl Part ===

impl Part {
    fn of(digest: &str, size: u64) -> Result<Part, TransferError> {
        let digest = Digest::parse(digest)?;
        let member = blob_name(&digest);
        Ok(Part { digest, size, member })
    }
}
