//! The task that reads frames and hands them to streams. It waits where a stream's owner does not read.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;

use super::PIECE;
use super::connection::{Role, Shared};
use super::stream::{Outlet, Piece, Stream};
use super::table::Refused;
use crate::clock::Clock;
use crate::spdy::{Decoder, Frame, GoAwayStatus, Headers, Reset, StreamId};

pub(super) struct Reader {
    pub(super) source: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) shared: Arc<Shared>,
    pub(super) accept: mpsc::Sender<Stream>,
    pub(super) clock: Arc<Clock>,
}

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
        decoder.input().reserve(PIECE);
        let mut input = bytes::BufMut::limit(decoder.input(), PIECE);
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
            Frame::Data { id, fin, bytes } => self.data(id, fin, bytes).await,
            Frame::SynStream { id, fin, headers, .. } => return self.syn_stream(id, fin, headers).await,
            Frame::SynReply { id, fin, .. } => {
                self.shared.table().replied(id);
                self.finished(id, fin).await;
            }
            Frame::Headers { id, fin, .. } => self.finished(id, fin).await,
            Frame::Rst { id, .. } => {
                self.shared.table().remove(id);
            }
            Frame::Ping(number) => return self.ping(number).await,
            Frame::GoAway { .. } => return Err(Over),
            Frame::Settings(_) | Frame::WindowUpdate { .. } => {}
        }
        Ok(())
    }

    async fn data(&mut self, id: StreamId, fin: bool, bytes: bytes::Bytes) {
        let pieces = self.shared.table().pieces(id);
        if let Some(pieces) = pieces
            && !bytes.is_empty()
        {
            // An owner who has left his stream hears no more of it.
            let _ = pieces.send(Piece::Data(bytes)).await;
        }
        self.finished(id, fin).await;
    }

    async fn finished(&mut self, id: StreamId, fin: bool) {
        if !fin {
            return;
        }
        let pieces = self.shared.table().pieces(id);
        if let Some(pieces) = pieces {
            let _ = pieces.send(Piece::Fin).await;
        }
        self.shared.table().peer_finished(id);
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
