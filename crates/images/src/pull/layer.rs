//! One layer: into its own directory, or onto the layers below it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use os::tree::Marks;

use super::Pull;
use super::crew::Halt;
use super::plan::Part;
use super::tee::{Failure, Tee};
use crate::blobs::{Blobs, ContentError};
use crate::content::{At, Flight, Key, Note, measure};
use crate::progress::{Meter, Stage};
use crate::store::ImageError;
use crate::unpack::{Budget, Crowd, Layout, Report, Target, Unpack, UnpackError};

/// What became of a layer.
pub(super) enum Unpacked {
    Whole(Report),
    /// It links to a file of a layer below: it cannot stand alone.
    NeedsOthers,
}

/// Where a layer goes and how.
#[derive(Clone, Copy)]
pub(super) struct Into<'a> {
    pub(super) root: &'a Path,
    pub(super) target: Target,
    pub(super) layout: Layout,
    /// What its names may take in memory together with those of other layers. Without it, it has a budget of its own.
    pub(super) names: Option<&'a Budget>,
}

// === impl Pull ===

impl<B: Blobs> Pull<'_, B> {
    /// Sees to it that a layer stands here by itself; false if it cannot.
    pub(super) fn layer(&self, part: &Part, marks: Marks) -> Result<bool, ImageError> {
        let size = self.size(&part.blob)?;
        let mut meter = Meter::new(self.caller, &part.digest, size);
        if self.stands(part, &mut meter)? {
            return Ok(true);
        }
        meter.stage(Stage::Waiting, 0);
        // Somebody else may be at it, who unpacks it on the same cores.
        let elsewhere = Crowd::here().enter();
        let here = || matches!(self.content.layer(&part.diff_id), Ok(Some(_)));
        let _flight = loop {
            let key = Key::Layer(part.diff_id.clone());
            let flight = self.content.flight_unless(key, &|| self.halt.is_called(), &here);
            let flight = flight.map_err(|e| self.depot(e))?;
            if self.stands(part, &mut meter)? {
                return Ok(true);
            }
            // Without it, the layer was there for a moment only.
            if let Some(flight) = flight {
                break flight;
            }
        };
        drop(elsewhere);
        let stands = self.until_sound(|| self.try_layer(part, marks, &mut meter))?;
        meter.stage(Stage::Done, size);
        Ok(stands)
    }

    /// Once. What the names of a layer took that does not stand is there for the next try, and for other layers.
    fn try_layer(&self, part: &Part, marks: Marks, meter: &mut Meter<'_>) -> Result<bool, ImageError> {
        let names = self.halt.names().shared();
        let tried = self.unpack_alone(part, marks, &names, meter);
        if !matches!(tried, Ok(true)) {
            names.give_back();
        }
        tried
    }

    fn unpack_alone(
        &self,
        part: &Part,
        marks: Marks,
        names: &Budget,
        meter: &mut Meter<'_>,
    ) -> Result<bool, ImageError> {
        let place = self.content.new_layer(&part.diff_id)?;
        let (target, layout) = (Target::Overlay(marks), Layout::Plain);
        let into = Into { root: place.files(), target, layout, names: Some(names) };
        match self.unpack_part(part, into, meter)? {
            Unpacked::NeedsOthers => Ok(false),
            Unpacked::Whole(report) => {
                let note = Note { size: self.size_of(&report, place.files()), ..report.into() };
                place.commit(note)?;
                Ok(true)
            }
        }
    }

    /// What the files hold together. Few layers name anything twice; of those the files are looked at. Where a directory
    /// shuts us out, what was written is counted, of which a part may be gone.
    pub(super) fn size_of(&self, report: &Report, files: &Path) -> u64 {
        let looked = if report.replaced { measure(files).ok() } else { None };
        looked.unwrap_or(report.size)
    }

    /// Whether the layer is here. Its blob must be too, which it is not if the layer came in another compression.
    fn stands(&self, part: &Part, meter: &mut Meter<'_>) -> Result<bool, ImageError> {
        if self.content.layer(&part.diff_id)?.is_none() {
            return Ok(false);
        }
        self.fetch(&part.blob, &part.digest)?;
        meter.stage(Stage::Present, self.size(&part.blob)?);
        Ok(true)
    }

    /// Unpacks a layer from its blob, or while that comes. Afterwards the blob is here and what was unpacked is what
    /// the configuration says.
    pub(super) fn unpack_part(
        &self,
        part: &Part,
        into: Into<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Unpacked, ImageError> {
        let size = self.size(&part.blob)?;
        let flight = self.content.flight(Key::Blob(part.digest.clone()), &|| self.halt.is_called());
        let flight = flight.map_err(|e| self.depot(e))?;
        let unpacked = if self.is_here(&part.digest, size)? {
            drop(flight);
            self.read_blob(part, into, meter)?
        } else {
            self.read_stream(part, size, into, meter, &flight)?
        };
        match unpacked {
            Ok(report) if report.diff_id == part.diff_id.as_str() => Ok(Unpacked::Whole(report)),
            Ok(report) => Err(ImageError::DiffId {
                image: self.name.to_owned(),
                digest: part.digest.to_string(),
                wanted: part.diff_id.to_string(),
                found: report.diff_id,
            }),
            // Who has given up broke it off, whatever it looked like from inside.
            Err(_) if self.halt.is_called() => Err(ImageError::GaveUp { image: self.name.to_owned() }),
            Err(UnpackError::LinkTarget { .. }) if into.target != Target::Flat => Ok(Unpacked::NeedsOthers),
            Err(source) => {
                let (image, digest) = (self.name.to_owned(), part.digest.to_string());
                Err(ImageError::Layer { image, digest, source })
            }
        }
    }

    fn read_blob(
        &self,
        part: &Part,
        into: Into<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Result<Report, UnpackError>, ImageError> {
        let missing = || (self.bad)(ContentError::Missing(part.digest.to_string()).into());
        let blob = self.content.blob(&part.digest)?.ok_or_else(missing)?;
        meter.stage(Stage::Unpacking, 0);
        Ok(self.apply(part, into, Metered { blob, meter, halt: self.halt }))
    }

    /// The flight is the blob's, and ours until it is here.
    fn read_stream(
        &self,
        part: &Part,
        size: u64,
        into: Into<'_>,
        meter: &mut Meter<'_>,
        _flight: &Flight,
    ) -> Result<Result<Report, UnpackError>, ImageError> {
        let ingest = self.content.ingest(&part.digest, size)?;
        let offset = ingest.offset();
        let path = self.content.ingest_path(&part.digest);
        let kept = File::open(&path).at("open", &path)?;
        let stream = match offset {
            whole if whole == size => None,
            offset => Some(self.blobs.stream(&part.blob, offset).map_err(self.bad)?),
        };
        meter.stage(Stage::Downloading, offset);
        let tee = Tee { kept, stream, ingest, meter, halt: self.halt };
        // Kept to the end also when it cannot be unpacked: whether the image or the network is to blame, its digest
        // tells.
        let (report, kept) = tee.follow(|blob| self.apply(part, into, blob));
        match kept {
            Ok(ingest) => ingest.commit()?,
            Err(Failure::GaveUp) => return Err(ImageError::GaveUp { image: self.name.to_owned() }),
            Err(Failure::Stream(error)) => return Err((self.bad)(B::broken(error))),
            Err(Failure::Depot(error)) => return Err(error.into()),
        };
        Ok(report)
    }

    fn apply(&self, part: &Part, into: Into<'_>, blob: impl Read + Send) -> Result<Report, UnpackError> {
        match into.names {
            Some(names) => into.unpack(part).run_within(names, blob, into.root),
            None => into.unpack(part).run(blob, into.root),
        }
    }
}

// === impl Into ===

impl Into<'_> {
    fn unpack<'p>(&self, part: &'p Part) -> Unpack<'p> {
        let media_type = part.blob.media_type.as_deref();
        Unpack { target: self.target, layout: self.layout, media_type, ..Unpack::default() }
    }
}

impl From<Report> for Note {
    fn from(report: Report) -> Note {
        let Report { size, entries, implied, warnings, .. } = report;
        Note { size, entries, implied, warnings }
    }
}

/// A blob of the store, read for somebody who watches and may lose patience.
struct Metered<'a, 'm> {
    blob: File,
    meter: &'a mut Meter<'m>,
    halt: &'a Halt<'a>,
}

impl Read for Metered<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.halt.is_called() {
            return Err(std::io::Error::other("given up"));
        }
        let read = self.blob.read(buffer)?;
        self.meter.advance(read as u64);
        Ok(read)
    }
}
