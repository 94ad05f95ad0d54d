//! A blob that is kept while it is read.
//!
//! Keeping it (a write and a hash) and using it (decompression and files) go side by side: the one who keeps is a step
//! ahead, by a few buffers that go round.

use std::fs::File;
use std::io::{self, Read, Take};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use super::crew::Halt;
use super::fetch::PIECE;
use crate::content::{DepotError, Ingest};
use crate::progress::Meter;

const BUFFERS: usize = 4;

/// A blob from its beginning: first what an earlier try left, then what comes, which is kept on the way.
pub(super) struct Tee<'a, 'm> {
    pub(super) there: Option<Take<File>>,
    pub(super) stream: Option<Box<dyn Read + Send + 'a>>,
    pub(super) ingest: Ingest,
    pub(super) meter: &'a mut Meter<'m>,
    pub(super) halt: &'a Halt<'a>,
}

/// Why the bytes ended.
pub(super) enum Failure {
    GaveUp,
    Stream(io::Error),
    Depot(DepotError),
}

/// What is kept, as it is read. The bytes come before they are checked as a whole, and an error here says nothing:
/// what really happened is told by [`Tee::follow`], and whether the bytes were right by [`Ingest::commit`].
pub(super) struct Follower {
    filled: Receiver<io::Result<Piece>>,
    emptied: Sender<Vec<u8>>,
    now: Piece,
    at: usize,
}

#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    length: usize,
}

// === impl Tee ===

impl Tee<'_, '_> {
    /// Lets somebody read along, and keeps the blob to its end whether they do or not.
    pub(super) fn follow<T>(self, use_it: impl FnOnce(&mut Follower) -> T) -> (T, Result<Ingest, Failure>) {
        std::thread::scope(|scope| {
            let (fill, filled) = sync_channel(BUFFERS);
            let (emptied, empty) = channel();
            for _ in 0..BUFFERS {
                // The receiver is a local of this function.
                drop(emptied.send(vec![0; PIECE]));
            }
            let keeper = scope.spawn(move || self.keep(&empty, fill));
            let mut follower = Follower { filled, emptied, now: Piece::default(), at: 0 };
            let answer = use_it(&mut follower);
            drop(follower);
            (answer, keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn keep(
        mut self,
        empty: &Receiver<Vec<u8>>,
        fill: SyncSender<io::Result<Piece>>,
    ) -> Result<Ingest, Failure> {
        while let Ok(mut bytes) = empty.recv() {
            let length = self.advance(&mut bytes).inspect_err(|_| {
                // Nobody hears it who has stopped reading before.
                drop(fill.send(Err(io::Error::other("the blob ended early"))));
            })?;
            if length == 0 {
                // The other side has its end at once, and goes on while this is waited for.
                drop(fill);
                self.ingest.sync().map_err(Failure::Depot)?;
                return Ok(self.ingest);
            }
            if fill.send(Ok(Piece { bytes, length })).is_err() {
                break;
            }
        }
        let mut bytes = vec![0; PIECE];
        while self.advance(&mut bytes)? > 0 {}
        Ok(self.ingest)
    }

    /// The next bytes, kept; none at the end.
    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        if let Some(there) = &mut self.there {
            let read = there.read(buffer).map_err(Failure::Stream)?;
            if read > 0 {
                return Ok(read);
            }
            self.there = None;
        }
        let mut length = 0;
        let ended = self.fill(buffer, &mut length);
        // Also what came before it broke: the next try goes on from there.
        self.ingest.append(&buffer[..length]).map_err(Failure::Depot)?;
        ended.map(|()| length)
    }

    fn fill(&mut self, buffer: &mut [u8], length: &mut usize) -> Result<(), Failure> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while *length < buffer.len() {
            if self.halt.is_called() {
                return Err(Failure::GaveUp);
            }
            match stream.read(&mut buffer[*length..]) {
                Ok(0) => break,
                Ok(read) => {
                    *length += read;
                    self.meter.advance(read as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Stream(error)),
            }
        }
        Ok(())
    }
}

// === impl Follower ===

impl Read for Follower {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.now.length {
            let Ok(next) = self.filled.recv() else { return Ok(0) };
            let read = std::mem::replace(&mut self.now, next?);
            self.at = 0;
            if !read.bytes.is_empty() {
                // The other side has ended if it does not take it back.
                drop(self.emptied.send(read.bytes));
            }
        }
        let filled = &self.now.bytes[self.at..self.now.length];
        let amount = filled.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&filled[..amount]);
        self.at += amount;
        Ok(amount)
    }
}
