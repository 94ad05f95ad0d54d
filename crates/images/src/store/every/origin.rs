//! Where the platforms of an image come from, one after the other.

use std::io::{self, Read, Seek, SeekFrom};

use crate::blobs::{Blobs, ContentError, Root};
use crate::content::Content;
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::lease::Lease;
use crate::reference::Reference;

/// One manifest of an index, as if the name led to it.
pub(super) struct Entry<'a, B> {
    pub(super) blobs: &'a B,
    pub(super) root: &'a Root,
}

impl<B: Blobs> Blobs for Entry<'_, B> {
    type Error = B::Error;

    const DAMAGED_AGAIN: u32 = B::DAMAGED_AGAIN;

    fn root(&self) -> Result<Root, B::Error> {
        Ok(self.root.clone())
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, B::Error> {
        self.blobs.manifest(wanted)
    }

    fn size(&self, wanted: &Descriptor) -> Result<u64, B::Error> {
        self.blobs.size(wanted)
    }

    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, B::Error> {
        self.blobs.stream(wanted, from)
    }

    fn damaged(&self, wanted: &Digest) {
        self.blobs.damaged(wanted);
    }

    fn broken(error: io::Error) -> B::Error {
        B::broken(error)
    }
}

/// What a name means here, which does not go meanwhile.
pub(crate) struct Here<'a> {
    content: &'a Content,
    target: Digest,
    _lease: Lease,
}

/// What is in the store already.
pub(crate) struct Kept<'a> {
    pub(crate) content: &'a Content,
    /// The index or manifest that everything starts from.
    pub(crate) target: &'a Digest,
}

// === impl Here ===

impl Here<'_> {
    /// Nothing for a name that no image here has.
    pub(crate) fn find<'a>(content: &'a Content, reference: &Reference) -> Option<Here<'a>> {
        let named = content.names().get(reference).ok()??;
        let record = content.record(&named.id).ok()??;
        let held: Vec<_> = record.digests().into_iter().chain(named.documents().cloned()).collect();
        let _lease = content.hold(&held).ok()?;
        Some(Here { content, target: named.target, _lease })
    }

    pub(crate) fn blobs(&self) -> Kept<'_> {
        Kept { content: self.content, target: &self.target }
    }
}

// === impl Kept ===

impl Kept<'_> {
    fn read(&self, digest: &str) -> Result<Vec<u8>, ContentError> {
        let missing = || ContentError::Missing(digest.to_owned());
        let found = self.content.document(&Digest::parse(digest)?);
        found.map_err(|_| missing())?.ok_or_else(missing)
    }
}

impl Blobs for Kept<'_> {
    type Error = ContentError;

    fn root(&self) -> Result<Root, ContentError> {
        Ok(Root { bytes: self.read(self.target.as_str())?, media_type: None })
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, ContentError> {
        self.read(&wanted.digest)
    }

    fn size(&self, wanted: &Descriptor) -> Result<u64, ContentError> {
        let here = self.content.blob_size(&Digest::parse(&wanted.digest)?);
        here.ok_or_else(|| ContentError::Missing(wanted.digest.clone()))
    }

    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, ContentError> {
        let missing = || ContentError::Missing(wanted.digest.clone());
        let found = self.content.blob(&Digest::parse(&wanted.digest)?);
        let mut file = found.map_err(|_| missing())?.ok_or_else(missing)?;
        file.seek(SeekFrom::Start(from)).map_err(|_| missing())?;
        Ok(Box::new(file))
    }

    /// There is one place only.
    fn damaged(&self, _wanted: &Digest) {}

    fn broken(error: io::Error) -> ContentError {
        ContentError::Missing(error.to_string())
    }
}
