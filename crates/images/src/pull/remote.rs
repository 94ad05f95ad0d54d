//! A registry as the source of an image's blobs.

use std::io::{self, Read};

use crate::blobs::{Blobs, Root};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::registry::Remote;
use crate::registry::answer::PullError;

impl Blobs for Remote<'_> {
    type Error = PullError;

    /// Networks and mirrors damage things once in a while; a registry that holds damaged ones, always.
    const DAMAGED_AGAIN: u32 = 2;

    fn root(&self) -> Result<Root, PullError> {
        let fetched = Remote::root(self)?;
        Ok(Root { bytes: fetched.bytes, media_type: Some(fetched.media_type) })
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, PullError> {
        Remote::manifest(self, wanted)
    }

    fn size(&self, wanted: &Descriptor) -> Result<u64, PullError> {
        wanted.size.ok_or_else(|| PullError::NoSize(wanted.digest.clone()))
    }

    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, PullError> {
        Ok(Box::new(self.blob(wanted, from)?))
    }

    fn damaged(&self, digest: &Digest) {
        Remote::damaged(self, digest);
    }

    fn broken(error: io::Error) -> PullError {
        PullError::from_io(error)
    }
}
