//! One frame at a time onto the wire.

use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::stream::Gone;
use crate::clock::Clock;
use crate::cut::Cut;
use crate::spdy::encode::data_head;
use crate::spdy::{Encoder, Frame, StreamId};

/// The writing end of a connection. Whoever writes waits until the peer has taken what came before.
pub(super) struct Writer {
    wire: Mutex<Wire>,
    cut: Cut,
    clock: Arc<Clock>,
}

struct Wire {
    sink: Box<dyn AsyncWrite + Send + Unpin>,
    encoder: Encoder,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(sink: Box<dyn AsyncWrite + Send + Unpin>, clock: Arc<Clock>) -> Writer {
        Writer { wire: Mutex::new(Wire { sink, encoder: Encoder::default() }), cut: Cut::new(), clock }
    }

    pub(super) async fn frame(&self, frame: &Frame) -> Result<(), Gone> {
        self.with(async |wire| wire.frame(frame).await).await
    }

    /// Opens a stream: numbers must rise on the wire as they were given, so both happen under one lock.
    pub(super) async fn open(&self, frame: impl FnOnce() -> Option<Frame> + Send) -> Result<(), Gone> {
        self.with(async |wire| match frame() {
            Some(frame) => wire.frame(&frame).await,
            None => Ok(()),
        })
        .await
    }

    /// A data frame without copying its bytes.
    pub(super) async fn data(&self, id: StreamId, bytes: &[u8], fin: bool) -> Result<(), Gone> {
        let head = data_head(id, bytes.len(), fin);
        self.with(async |wire| {
            write_both(&mut wire.sink, &head, bytes).await?;
            wire.sink.flush().await
        })
        .await
    }

    /// No more will be written.
    pub(super) async fn shutdown(&self) -> Result<(), Gone> {
        self.with(async |wire| wire.sink.shutdown().await).await
    }

    /// Lets go of the wire, also for those who write or wait just now.
    pub(super) fn cut(&self) {
        self.cut.cut();
        if let Ok(mut wire) = self.wire.try_lock() {
            wire.sink = Box::new(tokio::io::empty());
        }
    }

    /// A frame that means nothing: the connection stays as idle as it was.
    pub(super) async fn murmur(&self, frame: &Frame) -> Result<(), Gone> {
        self.quietly(async |wire| wire.frame(frame).await).await
    }

    async fn with(&self, work: impl AsyncFnOnce(&mut Wire) -> io::Result<()>) -> Result<(), Gone> {
        let result = self.quietly(work).await;
        self.clock.touch();
        result
    }

    async fn quietly(&self, work: impl AsyncFnOnce(&mut Wire) -> io::Result<()>) -> Result<(), Gone> {
        let mut wire = self.wire.lock().await;
        let result = self.cut.or(work(&mut wire)).await;
        if self.cut.is_cut() {
            wire.sink = Box::new(tokio::io::empty());
        }
        result?.map_err(|_| Gone)
    }
}

// === impl Wire ===

impl Wire {
    async fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        let mut bytes = BytesMut::new();
        self.encoder.encode(frame, &mut bytes);
        self.sink.write_all(&bytes).await?;
        self.sink.flush().await
    }
}

async fn write_both(
    sink: &mut (impl AsyncWrite + Unpin + ?Sized),
    mut head: &[u8],
    mut body: &[u8],
) -> io::Result<()> {
    while !head.is_empty() {
        let written = sink.write_vectored(&[IoSlice::new(head), IoSlice::new(body)]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let of_head = written.min(head.len());
        head = &head[of_head..];
        body = &body[written - of_head..];
    }
    sink.write_all(body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn head_and_body_arrive_whole_through_a_narrow_pipe() {
        for width in [1, 3, 8, 9, 64] {
            let (mut near, mut far) = tokio::io::duplex(width);
            let wrote = tokio::spawn(async move { write_both(&mut near, b"headhead", b"the body").await });
            let mut all = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut far, &mut all).await.expect("read");
            wrote.await.expect("no panic").expect("written");
            assert_eq!(all, b"headheadthe body", "width {width}");
        }
    }
}
