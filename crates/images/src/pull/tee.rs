//! A blob that is kept while it is read.

use std::fs::File;
use std::io::{self, Read, Take};

use super::crew::Halt;
use super::fetch::PIECE;
use crate::content::{DepotError, Ingest};
use crate::progress::Meter;

/// Reads a blob from its beginning: first what an earlier try left, then what comes, which is kept on the way.
///
/// Who reads gets the bytes before they are checked as a whole, and errors that say nothing: what really happened is
/// told by [`Tee::failure`], and whether the bytes were right by [`Ingest::commit`].
pub(super) struct Tee<'a, 'm> {
    pub(super) there: Option<Take<File>>,
    pub(super) stream: Option<Box<dyn Read + Send + 'a>>,
    pub(super) ingest: Ingest,
    pub(super) meter: &'a mut Meter<'m>,
    pub(super) halt: &'a Halt<'a>,
    pub(super) failure: Option<Failure>,
}

/// Why the bytes ended.
pub(super) enum Failure {
    GaveUp,
    Stream(io::Error),
    Depot(DepotError),
}

// === impl Tee ===

impl Tee<'_, '_> {
    /// Keeps what was not read.
    pub(super) fn drain(&mut self) {
        let mut piece = vec![0; PIECE];
        while self.failure.is_none() && self.read(&mut piece).is_ok_and(|read| read > 0) {}
    }

    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        if self.halt.is_called() {
            return Err(Failure::GaveUp);
        }
        if let Some(there) = &mut self.there {
            let read = there.read(buffer).map_err(Failure::Stream)?;
            if read > 0 {
                return Ok(read);
            }
            self.there = None;
        }
        let Some(stream) = &mut self.stream else { return Ok(0) };
        let read = stream.read(buffer).map_err(Failure::Stream)?;
        self.ingest.append(&buffer[..read]).map_err(Failure::Depot)?;
        self.meter.advance(read as u64);
        Ok(read)
    }
}

impl Read for Tee<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Err(stopped());
        }
        self.advance(buffer).map_err(|failure| {
            self.failure = Some(failure);
            stopped()
        })
    }
}

fn stopped() -> io::Error {
    io::Error::other("the blob ended early")
}
