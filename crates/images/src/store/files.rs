//! An image that is here, as a container gets it.

use std::io::{self, Read};

use super::{Files, Image, ImageError, Store, Wanted};
use crate::blobs::{Blobs, ContentError, Root};
use crate::content::DepotError;
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::platform::{self, Candidate};
use crate::progress::Caller;
use crate::pull::{Halt, Part, Pull, stacked};
use crate::record::{Form, Record};
use crate::stack::{Stacked, above};

// === impl Store ===

impl Store {
    /// The image with this id, if it is here and for this host. One of which only the blobs are is unpacked.
    pub(super) fn here(
        &self,
        id: &Digest,
        wanted: &Wanted<'_>,
        caller: Caller<'_>,
    ) -> Result<Option<Image>, ImageError> {
        let Some(record) = self.content.record(id)? else { return Ok(None) };
        let _lease = self.content.hold(&record.digests())?;
        // Before the lease it may have been collected.
        let Some(record) = self.content.record(id)?.filter(|record| fits(record, wanted)) else {
            return Ok(None);
        };
        if let Some(image) = self.image(&record)? {
            return self.given(image, wanted).map(Some);
        }
        let Some(record) = self.unpack_lasting(&record.id, caller)? else { return Ok(None) };
        self.image(&record)?.map(|image| self.given(image, wanted)).transpose()
    }

    /// The image of this name or id, as [`Store::status`] understands it, if it is here and for this host. Whatever
    /// `wanted` says of a source is not asked.
    pub fn ready_here(
        &self,
        name_or_id: &str,
        wanted: &Wanted<'_>,
        caller: Caller<'_>,
    ) -> Result<Option<Image>, ImageError> {
        match self.find(name_or_id)? {
            Some(record) => self.here(&record.id, wanted, caller),
            None => Ok(None),
        }
    }

    /// The image that was just brought.
    pub(super) fn ready(&self, record: &Record, wanted: &Wanted<'_>) -> Result<Image, ImageError> {
        let gone = || DepotError::NoImage(record.id.to_string());
        let image = self.image(record)?.ok_or_else(gone)?;
        self.given(image, wanted)
    }

    fn given(&self, image: Image, wanted: &Wanted<'_>) -> Result<Image, ImageError> {
        if let Some(id) = &image.id {
            if let Some(owner) = wanted.pin {
                self.content.pin(owner, id)?;
            }
            self.content.used(id)?;
        }
        Ok(image)
    }

    /// Where the files of an image are, if they are.
    pub(super) fn image(&self, record: &Record) -> Result<Option<Image>, ImageError> {
        let files = match record.form {
            Form::Packed => None,
            Form::Flat => self.content.flat(&record.id)?.map(|flat| Files::Dir(flat.files)),
            Form::Layers => self.stack(record)?,
        };
        Ok(files.map(|files| Image { id: Some(record.id.clone()), files, runs: record.runs.clone() }))
    }

    fn stack(&self, record: &Record) -> Result<Option<Files>, ImageError> {
        let parts: Vec<Part> = record.layers.iter().map(Part::of).collect();
        let mut layers = Vec::new();
        for part in stacked(&parts) {
            match self.content.layer(&part.diff_id)? {
                Some(layer) => layers.push(layer),
                None => return Ok(None),
            }
        }
        let seen: Vec<_> =
            layers.iter().map(|layer| (layer.files.as_path(), layer.note.implied.as_slice())).collect();
        let failed = |source| ImageError::Store { path: self.content.dir().to_owned(), source };
        Ok(match above(&seen).map_err(failed)? {
            Stacked::With(implied) => {
                Some(Files::Layers { lower: layers.into_iter().map(|layer| layer.files).collect(), implied })
            }
            Stacked::ThroughLink(_) => None,
        })
    }

    /// Unpacks from the blobs that are here, if all are.
    pub(super) fn unpack_again(
        &self,
        record: &Record,
        caller: Caller<'_>,
    ) -> Result<Option<Record>, ImageError> {
        let (name, halt) = (record.id.to_string(), Halt::new(caller));
        let bad = |source| ImageError::Stored { image: record.id.clone(), source };
        let pull = Pull {
            content: &self.content,
            blobs: &Nowhere,
            marks: self.marks,
            name: &name,
            caller,
            halt: &halt,
            bad: &bad,
        };
        match pull.unpack(record) {
            Ok(form) => {
                let record = Record { form, ..record.clone() };
                self.content.put_record(&record)?;
                Ok(Some(record))
            }
            Err(ImageError::Stored { source: ContentError::Missing(_), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn fits(record: &Record, wanted: &Wanted<'_>) -> bool {
    let candidate = Candidate { digest: record.id.to_string(), platform: Some(record.platform.clone()) };
    platform::pick(&[candidate], wanted.host, wanted.isolation).is_ok()
}

/// Where nothing comes from: for what must be here already.
struct Nowhere;

impl Blobs for Nowhere {
    type Error = ContentError;

    fn root(&self) -> Result<Root, ContentError> {
        Err(ContentError::Missing("of its index".to_owned()))
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, ContentError> {
        Err(ContentError::Missing(wanted.digest.clone()))
    }

    fn size(&self, wanted: &Descriptor) -> Result<u64, ContentError> {
        wanted.size.ok_or_else(|| ContentError::Missing(wanted.digest.clone()))
    }

    fn stream(&self, wanted: &Descriptor, _from: u64) -> Result<Box<dyn Read + Send + '_>, ContentError> {
        Err(ContentError::Missing(wanted.digest.clone()))
    }

    fn damaged(&self, _wanted: &Digest) {}

    fn broken(error: io::Error) -> ContentError {
        ContentError::Missing(error.to_string())
    }
}
