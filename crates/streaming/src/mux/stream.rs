//! What the owner of a stream holds: a queue of what comes, and an outlet.

use std::sync::Arc;

use bytes::Bytes;
use thiserror::Error;
use tokio::sync::mpsc;

use super::connection::Shared;
use crate::spdy::{Frame, Headers, Reset, StreamId};

/// No more than this goes out in one frame, so that streams take turns.
const LONGEST_FRAME: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) headers: Headers,
    pub(crate) outlet: Outlet,
    pub(super) pieces: mpsc::Receiver<Piece>,
}

/// The writing end. Clones write to the same stream.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(super) id: StreamId,
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Data(Bytes),
    Fin,
}

/// Nobody reads what is written: the stream was reset or finished, or the connection is gone.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("the other end is gone")]
pub(crate) struct Gone;

// === impl Stream ===

impl Stream {
    pub(crate) fn id(&self) -> StreamId {
        self.outlet.id
    }

    /// What comes next. None without a [`Piece::Fin`] before it means a reset, or the connection's end.
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        self.pieces.recv().await
    }
}

// === impl Outlet ===

impl Outlet {
    /// Waits while the peer does not read.
    pub(crate) async fn write(&self, bytes: &[u8]) -> Result<(), Gone> {
        for piece in bytes.chunks(LONGEST_FRAME) {
            if !self.shared.table().may_write(self.id) {
                return Err(Gone);
            }
            self.shared.writer.data(self.id, piece, false).await?;
        }
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        self.shared.table().may_write(self.id)
    }

    /// No more comes from here; the other direction stays as it is.
    pub(crate) async fn finish(&self) -> Result<(), Gone> {
        if !self.shared.table().finish(self.id) {
            return Err(Gone);
        }
        self.shared.writer.data(self.id, &[], true).await
    }

    /// Takes a stream that the peer has opened.
    pub(crate) async fn reply(&self) -> Result<(), Gone> {
        let reply = Frame::SynReply { id: self.id, fin: false, headers: Headers::default() };
        self.shared.writer.frame(&reply).await
    }

    /// Cuts both directions off.
    pub(crate) async fn reset(&self, status: Reset) -> Result<(), Gone> {
        if !self.shared.table().remove(self.id) {
            return Err(Gone);
        }
        self.shared.writer.frame(&Frame::Rst { id: self.id, status }).await
    }
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").field("id", &self.id).finish_non_exhaustive()
    }
}
