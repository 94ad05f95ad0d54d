//! A part of a blob while it comes: fetched on the network's thread, taken by the thread that unpacks.
//!
//! A cut is mended here: what came stays, the rest is asked for again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::RANGE;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::answer::PullError;
use super::backoff::{PROGRESS, Tries};
use super::course::{Asked, Course};
use super::endpoint::Ask;
use super::session::Session;
use super::{foreign, network};
use crate::progress::Caller;

/// How many bytes of one segment may wait to be taken.
const WINDOW: u32 = 4 << 20;

/// The blob that a segment is of.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) digest: String,
    pub(super) size: u64,
    pub(super) urls: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Piece {
    /// An answer came, which goes to this place of the blob.
    Opened {
        end: u64,
        whole: bool,
    },
    /// Asked for ahead, and the registry would send everything: not worth it yet.
    Unranged,
    Bytes(Bytes),
    Retrying {
        why: String,
        delay: Duration,
    },
    Failed(PullError),
}

/// The taker's side. Dropping it ends the download.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) end: u64,
    pieces: UnboundedReceiver<Piece>,
    window: Arc<Semaphore>,
    task: AbortHandle,
    _ahead: Option<OwnedSemaphorePermit>,
}

/// An answer that fits what was asked for.
struct Answer {
    /// As errors call who gave it.
    registry: String,
    /// None of the registry's, where a layer is elsewhere.
    endpoint: Option<usize>,
    response: Response,
    course: Course,
}

/// The network's side.
struct Download {
    session: Arc<Session>,
    wanted: Arc<Wanted>,
    at: u64,
    end: u64,
    /// Whether another segment is read before this one.
    ahead: bool,
    window: Arc<Semaphore>,
    out: UnboundedSender<Piece>,
}

// === impl Segment ===

impl Segment {
    pub(super) fn start(
        network: &Handle,
        session: &Arc<Session>,
        wanted: &Arc<Wanted>,
        (at, end): (u64, u64),
        ahead: Option<OwnedSemaphorePermit>,
    ) -> Segment {
        let (out, pieces) = unbounded_channel();
        let window = Arc::new(Semaphore::new(WINDOW as usize));
        let (session, wanted) = (Arc::clone(session), Arc::clone(wanted));
        let (is_ahead, room) = (ahead.is_some(), Arc::clone(&window));
        let download = Download { session, wanted, at, end, ahead: is_ahead, window: room, out };
        let task = network.spawn(download.run()).abort_handle();
        Segment { end, pieces, window, task, _ahead: ahead }
    }

    /// The next piece, as soon as there is one.
    pub(super) fn next(&mut self, caller: Caller<'_>) -> Result<Piece, PullError> {
        let piece = match self.pieces.try_recv() {
            Ok(piece) => Some(piece),
            Err(TryRecvError::Empty) => network::wait(caller, self.pieces.recv())?,
            Err(TryRecvError::Disconnected) => None,
        };
        if let Some(Piece::Bytes(bytes)) = &piece {
            self.window.add_permits(bytes.len());
        }
        let lost = || PullError::Runtime(std::io::Error::other("a download ended without a word"));
        piece.ok_or_else(lost)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl Download ===

impl Download {
    async fn run(mut self) {
        let mut tries = Tries::default();
        while self.at < self.end {
            let begun = self.at;
            let error = match self.part().await {
                Ok(true) => continue,
                Ok(false) => return,
                Err(error) => error,
            };
            match tries.after(error, self.at - begun) {
                Ok((error, delay)) => {
                    self.tell(Piece::Retrying { why: error.line(), delay });
                    tokio::time::sleep(delay).await;
                }
                Err(error) => return self.tell(Piece::Failed(error)),
            }
        }
    }

    /// One answer. Afterwards it has come further, unless it is not to go on, or there is an error.
    async fn part(&mut self) -> Result<bool, PullError> {
        let Answer { registry, endpoint, mut response, course } = self.open().await?;
        if course.whole && self.ahead {
            self.tell(Piece::Unranged);
            return Ok(false);
        }
        if course.whole {
            self.end = course.end;
        }
        self.tell(Piece::Opened { end: self.end, whole: course.whole });
        let begun = self.at;
        let taken = self.take(&registry, &mut response, course).await;
        if let (Err(_), Some(endpoint)) = (&taken, endpoint)
            && self.at - begun < PROGRESS
        {
            self.session.trust.broke(&self.wanted.digest, endpoint);
        }
        taken.map(|()| true)
    }

    /// The bytes of one answer.
    async fn take(
        &mut self,
        registry: &str,
        response: &mut Response,
        course: Course,
    ) -> Result<(), PullError> {
        let mut skip = course.skip;
        while let Some(mut bytes) = self.chunk(registry, response, course.end).await? {
            self.session.count(bytes.len());
            let passed = skip.min(bytes.len() as u64);
            skip -= passed;
            bytes = bytes.split_off(usize::try_from(passed).unwrap_or(bytes.len()));
            if self.at + bytes.len() as u64 > course.end {
                return Err(PullError::TooLong {
                    digest: self.wanted.digest.clone(),
                    longest: self.wanted.size,
                });
            }
            // An empty piece would be the end to a reader.
            if !bytes.is_empty() {
                self.at += bytes.len() as u64;
                self.hand_over(bytes).await;
            }
        }
        Ok(())
    }

    /// The registry and its mirrors, and what the descriptor names beside them.
    async fn open(&self) -> Result<Answer, PullError> {
        let digest = self.wanted.digest.as_str();
        let path = format!("{}/blobs/{digest}", self.session.repository);
        let range = self.asked("").range();
        let ask = Ask::get(path);
        let ask = &range.iter().fold(ask, |ask, range| ask.with(RANGE, range));
        let inside = self.session.first(
            digest,
            |abilities| abilities.pull,
            |endpoint| async move {
                let answer = self.answer(&endpoint.name, endpoint.send(ask).await?)?;
                self.session.trust.gave(digest, endpoint.number);
                Ok(Answer { endpoint: Some(endpoint.number), ..answer })
            },
        );
        match inside.await {
            Err(PullError::NotFound { registry }) => {
                let urls = foreign::addresses(digest, &self.wanted.urls)?;
                let found = foreign::get(self.session.stranger()?, &urls, range.as_deref()).await?;
                let (registry, response) = found.ok_or(PullError::NotFound { registry })?;
                self.answer(&registry, response)
            }
            other => other,
        }
    }

    /// One whose head says something else than was asked for is none, and the next one may have a better.
    fn answer(&self, registry: &str, response: Response) -> Result<Answer, PullError> {
        let course = self.asked(registry).course(response.status().as_u16(), response.headers())?;
        Ok(Answer { registry: registry.to_owned(), endpoint: None, response, course })
    }

    /// None at the end of the answer, which must not come early.
    async fn chunk(
        &self,
        registry: &str,
        response: &mut Response,
        end: u64,
    ) -> Result<Option<Bytes>, PullError> {
        let (digest, place) = (self.wanted.digest.as_str(), || format!("byte {} of {end}", self.at));
        match response.chunk().await {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) if self.at == end => Ok(None),
            Ok(None) => {
                let (registry, source) = (registry.to_owned(), format!("it ended at {}", place()).into());
                Err(PullError::Cut { registry, digest: digest.to_owned(), source })
            }
            Err(error) => Err(PullError::cut(registry, digest, &place(), self.session.silence, error)),
        }
    }

    /// Waits until the taker has room.
    async fn hand_over(&self, bytes: Bytes) {
        let room = u32::try_from(bytes.len()).unwrap_or(WINDOW).min(WINDOW);
        if let Ok(permit) = self.window.acquire_many(room).await {
            permit.forget();
        }
        self.tell(Piece::Bytes(bytes));
    }

    /// Whoever does not listen any more has dropped the segment, which ends this.
    fn tell(&self, piece: Piece) {
        drop(self.out.send(piece));
    }

    fn asked<'s>(&'s self, registry: &'s str) -> Asked<'s> {
        let (digest, size) = (self.wanted.digest.as_str(), self.wanted.size);
        Asked { registry, digest, size, at: self.at, end: self.end }
    }
}
