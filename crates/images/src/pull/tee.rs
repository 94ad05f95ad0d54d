//! A blob that is kept while it is read.
//!
//! One thread keeps it (a write and a hash) as fast as it comes; another reads behind, out of the file it is kept in.
//! Nothing else is between the two: no network waits for slow unpacking, and no memory holds what is not read yet.

use std::fs::File;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::crew::Halt;
use super::fetch::PIECE;
use crate::content::{DepotError, Ingest};
use crate::progress::{Meter, Stage};

/// A blob of which some is here from an earlier try, and the rest comes.
pub(super) struct Tee<'a, 'm> {
    /// Where it is kept, to be read from the beginning.
    pub(super) kept: File,
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
pub(super) struct Follower<'w, 'a, 'm> {
    kept: File,
    at: u64,
    way: &'w Way<'a, 'm>,
    /// Asked here too: the rest of a blob that has come may take longer to use than it took to come.
    halt: &'a Halt<'a>,
}

/// How far the one is whom the other follows.
struct Way<'a, 'm> {
    now: Mutex<Now<'a, 'm>>,
    further: Condvar,
}

struct Now<'a, 'm> {
    kept: u64,
    state: State,
    meter: &'a mut Meter<'m>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Coming,
    Whole,
    Broken,
}

/// The one who goes ahead. Dropped before it has ended, it has failed.
struct Ahead<'w, 'a, 'm>(&'w Way<'a, 'm>);

// === impl Tee ===

impl<'a, 'm> Tee<'a, 'm> {
    /// Lets somebody read along, and keeps the blob to its end whether they do or not.
    pub(super) fn follow<T>(
        self,
        use_it: impl FnOnce(&mut Follower<'_, 'a, 'm>) -> T,
    ) -> (T, Result<Ingest, Failure>) {
        let Tee { kept, stream, mut ingest, meter, halt } = self;
        let now = Now { kept: ingest.offset(), state: State::Coming, meter };
        let way = Way { now: Mutex::new(now), further: Condvar::new() };
        std::thread::scope(|scope| {
            let way = &way;
            let keeper = scope.spawn(move || {
                keep(stream, &mut ingest, halt, &Ahead(way))?;
                // The other side has its end already, and goes on while this is waited for.
                ingest.sync().map_err(Failure::Depot)?;
                Ok(ingest)
            });
            let answer = use_it(&mut Follower { kept, at: 0, way, halt });
            (answer, keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }
}

fn keep(
    stream: Option<Box<dyn Read + Send + '_>>,
    ingest: &mut Ingest,
    halt: &Halt<'_>,
    ahead: &Ahead<'_, '_, '_>,
) -> Result<(), Failure> {
    if let Some(mut stream) = stream {
        let mut piece = vec![0; PIECE];
        loop {
            let mut length = 0;
            let filled = fill(&mut stream, &mut piece, &mut length, halt, ahead);
            // Also what came before it broke: the next try goes on from there.
            ingest.append(&piece[..length]).map_err(Failure::Depot)?;
            filled?;
            if length == 0 {
                break;
            }
            ahead.kept(length as u64);
        }
    }
    ahead.end();
    Ok(())
}

fn fill(
    stream: &mut impl Read,
    piece: &mut [u8],
    length: &mut usize,
    halt: &Halt<'_>,
    ahead: &Ahead<'_, '_, '_>,
) -> Result<(), Failure> {
    while *length < piece.len() {
        if halt.is_called() {
            return Err(Failure::GaveUp);
        }
        match stream.read(&mut piece[*length..]) {
            Ok(0) => break,
            Ok(read) => {
                *length += read;
                ahead.came(read as u64);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Failure::Stream(error)),
        }
    }
    Ok(())
}

// === impl Way ===

impl<'a, 'm> Way<'a, 'm> {
    /// A panic of the other thread ends the pull anyway.
    fn lock(&self) -> MutexGuard<'_, Now<'a, 'm>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Ahead ===

impl Ahead<'_, '_, '_> {
    /// Told as it comes: on a slow line a whole piece takes seconds.
    fn came(&self, by: u64) {
        self.0.lock().meter.advance(by);
    }

    fn kept(&self, by: u64) {
        self.0.lock().kept += by;
        self.0.further.notify_one();
    }

    fn end(&self) {
        self.0.lock().state = State::Whole;
        self.0.further.notify_one();
    }
}

impl Drop for Ahead<'_, '_, '_> {
    fn drop(&mut self) {
        let mut now = self.0.lock();
        if now.state == State::Coming {
            now.state = State::Broken;
            self.0.further.notify_one();
        }
    }
}

// === impl Follower ===

impl Follower<'_, '_, '_> {
    /// How much there is to be read, once there is something; nothing at the end.
    fn ahead(&self) -> io::Result<u64> {
        let nothing = |now: &mut Now<'_, '_>| now.state == State::Coming && now.kept == self.at;
        let now = self.way.further.wait_while(self.way.lock(), nothing);
        let mut now = now.unwrap_or_else(PoisonError::into_inner);
        match now.state {
            State::Broken => return Err(io::Error::other("the blob ended early")),
            State::Whole => now.meter.stage(Stage::Unpacking, self.at),
            State::Coming => {}
        }
        Ok(now.kept - self.at)
    }
}

impl Read for Follower<'_, '_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.halt.is_called() {
            return Err(io::Error::other("given up"));
        }
        let there = usize::try_from(self.ahead()?).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.kept.read(&mut buffer[..there])?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
