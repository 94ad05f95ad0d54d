//! The task that reads frames and hands them to streams. It waits where a stream's owner does not read, and asks
//! meanwhile whether the peer is still there.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use super::connection::{Role, Shared};
use super::stream::{Outlet, Piece, Stream};
use super::table::Refused;
use crate::clock::Clock;
use crate::pulse::Pulse;
use crate::spdy::{Decoder, Frame, GoAwayStatus, Headers, Reset, StreamId};

pub(super) struct Reader {
    pub(super) source: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) shared: Arc<Shared>,
    pub(super) accept: mpsc::Sender<Stream>,
    pub(super) clock: Arc<Clock>,
    pub(super) pulse: Pulse,
}

/// The number of an answer to a ping that nobody has sent, which clients and servers pass over; the lowest bit tells whose
/// ping it would be.
const NOT_ASKED: u32 = u32::MAX - 1;

/// The connection is over, by agreement or not.
struct Over;

// === impl Reader ===

impl Reader {
    pub(super) async fn run(mut self) {
        let mut decoder = Decoder::default();
        // Ends with the peer's last byte, its going away, or its first mistake.
        while self.step(&mut decoder).await.is_ok() {}
        self.shared.table().end();
    }

    async fn step(&mut self, decoder: &mut Decoder) -> Result<(), Over> {
        match decoder.next_frame() {
            Ok(Some(frame)) => self.frame(frame).await,
            Ok(None) => self.fill(decoder).await,
            Err(_) => {
                let last = self.shared.table().heard;
                let goodbye = Frame::GoAway { last, status: GoAwayStatus::PROTOCOL_ERROR };
                let _ = self.shared.writer.frame(&goodbye).await;
                Err(Over)
            }
        }
    }

    async fn fill(&mut self, decoder: &mut Decoder) -> Result<(), Over> {
        let wanted = decoder.wanted(self.shared.role.reads());
        decoder.input().reserve(wanted);
        let mut input = bytes::BufMut::limit(decoder.input(), wanted);
        match self.source.read_buf(&mut input).await {
            Ok(0) | Err(_) => Err(Over),
            Ok(_) => {
                self.clock.touch();
                Ok(())
            }
        }
    }

    async fn frame(&mut self, frame: Frame) -> Result<(), Over> {
        match frame {
            Frame::Data { id, fin, bytes } => return self.data(id, fin, bytes).await,
            Frame::SynStream { id, fin, headers, .. } => return self.syn_stream(id, fin, headers).await,
            Frame::SynReply { id, fin, .. } => {
                self.shared.table().replied(id);
                return self.finished(id, fin).await;
            }
            Frame::Headers { id, fin, .. } => return self.finished(id, fin).await,
            Frame::Rst { id, .. } => {
                self.shared.table().remove(id);
            }
            Frame::Ping(number) => return self.ping(number).await,
            Frame::GoAway { .. } => return Err(Over),
            Frame::Settings(_) | Frame::WindowUpdate { .. } => {}
        }
        Ok(())
    }

    async fn data(&mut self, id: StreamId, fin: bool, bytes: bytes::Bytes) -> Result<(), Over> {
        let pieces = self.shared.table().pieces(id);
        if let Some(pieces) = pieces
            && !bytes.is_empty()
        {
            self.hand_over(&pieces, Piece::Data(bytes)).await?;
        }
        self.finished(id, fin).await
    }

    async fn finished(&mut self, id: StreamId, fin: bool) -> Result<(), Over> {
        if !fin {
            return Ok(());
        }
        let pieces = self.shared.table().pieces(id);
        if let Some(pieces) = pieces {
            self.hand_over(&pieces, Piece::Fin).await?;
        }
        self.shared.table().peer_finished(id);
        Ok(())
    }

    /// Waits while the stream's owner does not read. One who has left his stream hears no more of it.
    async fn hand_over(&mut self, pieces: &mpsc::Sender<Piece>, piece: Piece) -> Result<(), Over> {
        let shared = &self.shared;
        let murmur = || {
            let shared = shared.clone();
            let theirs = u32::from(shared.role == Role::Server);
            async move { shared.writer.murmur(&Frame::Ping(NOT_ASKED | theirs)).await }
        };
        self.pulse.or(pieces.send(piece), murmur).await.map(drop).map_err(|_| Over)
    }

    async fn syn_stream(&mut self, id: StreamId, fin: bool, headers: Headers) -> Result<(), Over> {
        if self.shared.role == Role::Client {
            return self.refuse(id, Reset::REFUSED_STREAM).await;
        }
        let accepted = self.shared.table().accept(id, fin);
        match accepted {
            Ok(pieces) => {
                let outlet = Outlet { id, shared: self.shared.clone() };
                self.accept.send(Stream { headers, outlet, pieces }).await.map_err(|_| Over)
            }
            Err(Refused::Number) => self.refuse(id, Reset::PROTOCOL_ERROR).await,
            Err(Refused::TooMany) => self.refuse(id, Reset::REFUSED_STREAM).await,
        }
    }

    async fn refuse(&mut self, id: StreamId, status: Reset) -> Result<(), Over> {
        self.shared.writer.frame(&Frame::Rst { id, status }).await.map_err(|_| Over)
    }

    /// The peer's own are sent back; the parity tells whose it is.
    async fn ping(&mut self, number: u32) -> Result<(), Over> {
        let ours = if self.shared.role == Role::Client { 1 } else { 0 };
        if number % 2 == ours {
            return Ok(());
        }
        self.shared.writer.frame(&Frame::Ping(number)).await.map_err(|_| Over)
    }
}
