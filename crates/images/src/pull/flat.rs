//! A whole image in one directory, layer upon layer: where there is no overlay, or the layers cannot be stacked.
//!
//! Layers are applied in their order, by one thread. Meanwhile others fetch the blobs that come later; the one whose
//! turn it is is unpacked while it comes, if nobody has begun it.

use std::collections::BTreeSet;

use super::layer::{Into, Unpacked};
use super::plan::Part;
use super::{Known, Pull, crew, here_at_once};
use crate::blobs::Blobs;
use crate::content::{DepotError, Key, Note, Unfinished};
use crate::progress::{Meter, Stage};
use crate::store::ImageError;
use crate::unpack::{MOST_WARNINGS, Report, Target};

// === impl Pull ===

impl<B: Blobs> Pull<'_, B> {
    pub(super) fn flat(&self, image: &Known<'_>) -> Result<(), ImageError> {
        if self.content.flat(image.id)?.is_some() {
            // To run it that is enough; to save or push it, its blobs are wanted too.
            return self.fetch_all(image.parts);
        }
        let flight = self.content.flight(Key::Flat(image.id.clone()), &|| self.halt.is_called());
        let _flight = flight.map_err(|e| self.depot(e))?;
        if self.content.flat(image.id)?.is_some() {
            return self.fetch_all(image.parts);
        }
        // A layer that came damaged has left its marks: all begins anew, with the blobs that are here.
        self.until_sound(|| {
            let place = self.content.new_flat(image.id)?;
            let note = self.fill(image, &place)?;
            place.commit(note)?;
            Ok(())
        })
    }

    fn fill(&self, image: &Known<'_>, place: &Unfinished) -> Result<Note, ImageError> {
        std::thread::scope(|scope| {
            let ahead = scope.spawn(|| self.fetch_ahead(image.parts));
            let filled = self.apply_all(image, place);
            match &filled {
                // What is fetched meanwhile will be wanted again.
                Ok(_) | Err(ImageError::Depot(DepotError::Damaged { .. })) => {}
                Err(_) => self.halt.call(),
            }
            let fetched = ahead.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (filled, fetched) {
                // Then it was the other one that failed first.
                (Err(ImageError::GaveUp { .. }) | Ok(_), Err(error)) => Err(error),
                (filled, _) => filled,
            }
        })
    }

    /// All but the first, which is unpacked at once.
    fn fetch_ahead(&self, parts: &[Part]) -> Result<(), ImageError> {
        let mut known: BTreeSet<_> = parts.iter().take(1).map(|part| &part.digest).collect();
        let later: Vec<_> = parts.iter().filter(|part| known.insert(&part.digest)).collect();
        crew::all(later, here_at_once(), self.halt, |part| self.fetch_part(part, Stage::Waiting))
    }

    fn apply_all(&self, image: &Known<'_>, place: &Unfinished) -> Result<Note, ImageError> {
        let mut whole = Report::default();
        // One layer comes after the other, and each forgets its names.
        let into = Into { root: place.files(), target: Target::Flat, layout: image.layout, names: None };
        for part in image.parts {
            let size = self.size(&part.blob)?;
            let mut meter = Meter::new(self.caller, &part.digest, size);
            if let Unpacked::Whole(report) = self.unpack_part(part, into, &mut meter)? {
                // Upper layers replace and remove what lower ones brought.
                whole.replaced |= report.replaced;
                whole.size += report.size;
                whole.entries += report.entries;
                whole.warnings.extend(report.warnings);
                whole.warnings.truncate(MOST_WARNINGS);
            }
            meter.stage(Stage::Done, size);
        }
        Ok(Note { size: self.size_of(&whole, place.files()), ..whole.into() })
    }
}
