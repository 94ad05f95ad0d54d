//! One blob into the store, by whoever comes first.

use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use super::plan::{Part, in_order};
use super::{Pull, crew, here_at_once};
use crate::blobs::{Blobs, ContentError};
use crate::content::{DepotError, Ingest, Key};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::progress::{Meter, Progress, Stage};
use crate::store::ImageError;

/// What is moved at a time.
pub(super) const PIECE: usize = 256 << 10;

// === impl Pull ===

impl<B: Blobs> Pull<'_, B> {
    /// Sees to it that a blob is here.
    pub(super) fn fetch(&self, blob: &Descriptor, digest: &Digest) -> Result<(), ImageError> {
        let size = self.size(blob)?;
        if self.is_here(digest, size)? {
            return Ok(());
        }
        self.fetch_telling(blob, digest, size, None)
    }

    /// The blobs of these layers, several at once, and no more than that.
    pub(super) fn fetch_all(&self, parts: &[Part]) -> Result<(), ImageError> {
        crew::all(in_order(parts), here_at_once(), self.halt, |part| self.fetch_part(part, Stage::Done))
    }

    /// `then` is what the layer is at when its blob is here.
    pub(super) fn fetch_part(&self, part: &Part, then: Stage) -> Result<(), ImageError> {
        let size = self.size(&part.blob)?;
        let mut meter = Meter::new(self.caller, &part.digest, size);
        if self.is_here(&part.digest, size)? {
            meter.stage(if then == Stage::Done { Stage::Present } else { then }, size);
            return Ok(());
        }
        meter.stage(Stage::Waiting, 0);
        self.fetch_telling(&part.blob, &part.digest, size, Some(&mut meter))?;
        meter.stage(then, size);
        Ok(())
    }

    fn fetch_telling(
        &self,
        blob: &Descriptor,
        digest: &Digest,
        size: u64,
        mut meter: Option<&mut Meter<'_>>,
    ) -> Result<(), ImageError> {
        let flight = self.content.flight(Key::Blob(digest.clone()), &|| self.halt.is_called());
        let _flight = flight.map_err(|e| self.depot(e))?;
        if self.is_here(digest, size)? {
            return Ok(());
        }
        self.until_sound(|| {
            let ingest = self.content.ingest(digest, size)?;
            if let Some(meter) = &mut meter {
                meter.stage(Stage::Downloading, ingest.offset());
            }
            self.download(blob, ingest, &mut meter)
        })
    }

    fn download(
        &self,
        blob: &Descriptor,
        mut ingest: Ingest,
        meter: &mut Option<&mut Meter<'_>>,
    ) -> Result<(), ImageError> {
        let mut piece = vec![0; PIECE];
        if ingest.offset() < ingest.size() {
            let mut stream = self.blobs.stream(blob, ingest.offset()).map_err(self.bad)?;
            loop {
                if self.halt.is_called() {
                    return Err(ImageError::GaveUp { image: self.name.to_owned() });
                }
                let read = stream.read(&mut piece).map_err(|e| (self.bad)(B::broken(e)))?;
                if read == 0 {
                    break;
                }
                ingest.append(&piece[..read])?;
                if let Some(meter) = meter {
                    meter.advance(read as u64);
                }
            }
        }
        ingest.commit()?;
        Ok(())
    }

    /// Tries again, from nothing, when what came is another blob; but not for ever.
    pub(super) fn until_sound<T>(
        &self,
        mut once: impl FnMut() -> Result<T, ImageError>,
    ) -> Result<T, ImageError> {
        let mut again = B::DAMAGED_AGAIN;
        loop {
            match once() {
                // What was here from an earlier try may be to blame: that is no try.
                Err(ImageError::Depot(DepotError::Damaged { resumed, .. })) if resumed > 0 => {}
                Err(ImageError::Depot(error @ DepotError::Damaged { .. })) if again > 0 => {
                    again -= 1;
                    if let DepotError::Damaged { wanted, .. } = &error {
                        self.blobs.damaged(wanted);
                    }
                    let (reference, why) = (self.name.to_owned(), error.to_string());
                    let delay = std::time::Duration::ZERO;
                    (self.caller.tell)(&Progress::Retrying { reference, why, delay });
                }
                Err(ImageError::Depot(DepotError::Damaged { wanted, found, .. })) => {
                    let (wanted, found) = (wanted.to_string(), found.to_string());
                    return Err((self.bad)(ContentError::Damaged { wanted, found }.into()));
                }
                other => return other,
            }
        }
    }

    /// Whether the blob is here; one of another size than was said makes the one who said it a liar.
    pub(super) fn is_here(&self, digest: &Digest, size: u64) -> Result<bool, ImageError> {
        match self.content.blob_size(digest) {
            Some(found) if found != size => {
                let digest = digest.to_string();
                Err((self.bad)(ContentError::Size { digest, wanted: size, found }.into()))
            }
            Some(_) => {
                self.renew(digest);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Makes a blob that is here as young as one that came just now: until its image is whole, upkeep lets go of it some
    /// time after it came, and of a large image over a bad line it came many tries ago. Nobody else asks for that time,
    /// so one that cannot be set fails nothing.
    pub(super) fn renew(&self, digest: &Digest) {
        let file = File::options().write(true).open(self.content.blob_path(digest));
        drop(file.and_then(|file| file.set_modified(SystemTime::now())));
    }

    /// Who no longer waits for somebody else has given up.
    pub(super) fn depot(&self, error: DepotError) -> ImageError {
        match error {
            DepotError::GaveUp(_) => ImageError::GaveUp { image: self.name.to_owned() },
            other => other.into(),
        }
    }
}
