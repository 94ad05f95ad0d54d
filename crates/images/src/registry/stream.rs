//! A blob in the order of its bytes, however it comes.
//!
//! A small blob is one answer. A large one, from a registry that knows ranges, comes in segments of which the next ones
//! are fetched ahead: many registries and their stores give one connection less than the line could carry. What is
//! fetched ahead and not yet read is bounded per blob and per pull.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::Handle;

use super::answer::PullError;
use super::network;
use super::segment::{Piece, Segment, Wanted};
use super::session::Session;
use crate::blobs::{ContentError, is_digest};
use crate::document::Descriptor;
use crate::progress::{Caller, Progress};

/// Blobs below this are not worth the questions.
const LARGE: u64 = 16 << 20;
const SEGMENT: u64 = 4 << 20;
/// The one that is read and those ahead of it.
const SEGMENTS_OF_A_BLOB: usize = 4;
/// In all blobs of a pull, beside the one of each that is read.
pub(super) const SEGMENTS_AHEAD: usize = 8;
/// How often a caller is asked while bytes flow.
const ASK_CALLER: Duration = Duration::from_millis(100);

/// The bytes of a blob from some place to its end. They are as many as the descriptor says; whether they are the right
/// ones the reader finds by their digest.
#[derive(Debug)]
pub struct BlobStream<'a> {
    session: Arc<Session>,
    network: Handle,
    reference: String,
    caller: Caller<'a>,
    asked_caller: Instant,
    wanted: Arc<Wanted>,
    /// The first is the one that is read.
    segments: VecDeque<Segment>,
    at: u64,
    /// Whether the registry is known to answer ranges.
    ranges: Option<bool>,
    unread: Bytes,
    failed: bool,
}

// === impl BlobStream ===

impl<'a> BlobStream<'a> {
    pub(super) fn open(
        session: &Arc<Session>,
        reference: String,
        descriptor: &Descriptor,
        from: u64,
        caller: Caller<'a>,
    ) -> Result<BlobStream<'a>, PullError> {
        let digest = descriptor.digest.clone();
        if !is_digest(&digest) {
            return Err(ContentError::Digest(digest).into());
        }
        let size = descriptor.size.ok_or_else(|| PullError::NoSize(digest.clone()))?;
        if from > size {
            return Err(PullError::TooLong { digest, longest: size });
        }
        let wanted = Arc::new(Wanted { digest, size, urls: descriptor.urls.clone() });
        let (session, network) = (Arc::clone(session), network::handle()?);
        let (segments, unread, asked_caller) = (VecDeque::new(), Bytes::new(), Instant::now());
        let (ranges, failed) = (None, false);
        let mut stream = BlobStream {
            session,
            network,
            reference,
            caller,
            asked_caller,
            wanted,
            segments,
            at: from,
            ranges,
            unread,
            failed,
        };
        stream.plan();
        Ok(stream)
    }

    /// Sees to it that a segment is read from and others come behind it.
    fn plan(&mut self) {
        if self.segments.is_empty() && self.at < self.wanted.size {
            let large = self.wanted.size - self.at >= LARGE && self.ranges != Some(false);
            let end = if large { self.at + SEGMENT } else { self.wanted.size };
            self.start((self.at, end), None);
        }
        while self.ranges == Some(true) && self.segments.len() < SEGMENTS_OF_A_BLOB {
            let planned = self.segments.back().map_or(self.at, |last| last.end);
            if planned >= self.wanted.size {
                return;
            }
            // None is free: what others have ahead goes first.
            let Ok(permit) = Arc::clone(&self.session.ahead).try_acquire_owned() else { return };
            self.start((planned, (planned + SEGMENT).min(self.wanted.size)), Some(permit));
        }
    }

    fn start(&mut self, range: (u64, u64), ahead: Option<tokio::sync::OwnedSemaphorePermit>) {
        let segment = Segment::start(&self.network, &self.session, &self.wanted, range, ahead);
        self.segments.push_back(segment);
    }

    /// The next bytes; empty at the end of the blob.
    fn advance(&mut self) -> Result<Bytes, PullError> {
        loop {
            self.plan();
            self.ask_caller()?;
            let Some(front) = self.segments.front_mut() else { return Ok(Bytes::new()) };
            match front.next(self.caller)? {
                Piece::Bytes(bytes) => return Ok(self.take(bytes)),
                Piece::Opened { end, whole } => self.opened(end, whole),
                Piece::Unranged => {
                    self.segments.clear();
                    self.ranges = Some(false);
                }
                Piece::Failed(error) => return Err(error),
                Piece::Retrying { why, delay } => {
                    let reference = self.reference.clone();
                    (self.caller.tell)(&Progress::Retrying { reference, why, delay });
                }
            }
        }
    }

    /// An answer that is the whole rest makes those behind it needless.
    fn opened(&mut self, end: u64, whole: bool) {
        let Some(front) = self.segments.front_mut() else { return };
        front.end = end;
        if whole {
            self.segments.truncate(1);
        }
        self.ranges = Some(!whole);
    }

    fn take(&mut self, bytes: Bytes) -> Bytes {
        self.at += bytes.len() as u64;
        if self.segments.front().is_some_and(|front| front.end <= self.at) {
            self.segments.pop_front();
        }
        bytes
    }

    fn ask_caller(&mut self) -> Result<(), PullError> {
        if self.asked_caller.elapsed() < ASK_CALLER {
            return Ok(());
        }
        self.asked_caller = Instant::now();
        if (self.caller.gave_up)() { Err(PullError::GaveUp) } else { Ok(()) }
    }
}

impl Read for BlobStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other(format!("{} failed before", self.wanted.digest)));
        }
        if self.unread.is_empty() && !buffer.is_empty() {
            self.unread = self.advance().map_err(|error| {
                self.failed = true;
                self.segments.clear();
                io::Error::other(error)
            })?;
        }
        let length = buffer.len().min(self.unread.len());
        buffer[..length].copy_from_slice(&self.unread.split_to(length));
        Ok(length)
    }
}
