//! One frame at a time onto the wire.

use std::io::{self, IoSlice};
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use crate::clock::Clock;
use crate::spdy::encode::data_head;
use crate::spdy::{Encoder, Frame, StreamId};

/// The writing end of a connection. Whoever writes waits until the peer has taken what came before.
pub(super) struct Writer {
    wire: Mutex<Wire>,
    clock: Arc<Clock>,
}

struct Wire {
    sink: Box<dyn AsyncWrite + Send + Unpin>,
    encoder: Encoder,
}

// === impl Writer ===

impl Writer {
    pub(super) fn new(sink: Box<dyn AsyncWrite + Send + Unpin>, clock: Arc<Clock>) -> Writer {
        Writer { wire: Mutex::new(Wire { sink, encoder: Encoder::default() }), clock }
    }

    pub(super) async fn frame(&self, frame: &Frame) -> io::Result<()> {
        let mut wire = self.wire.lock().await;
        let Wire { sink, encoder } = &mut *wire;
        let mut bytes = BytesMut::new();
        encoder.encode(frame, &mut bytes);
        sink.write_all(&bytes).await?;
        sink.flush().await?;
        self.clock.touch();
        Ok(())
    }

    /// Opens a stream: numbers must rise on the wire as they were given, so both happen under one lock.
    pub(super) async fn open(&self, frame: impl FnOnce() -> Option<Frame> + Send) -> io::Result<bool> {
        let mut wire = self.wire.lock().await;
        let Wire { sink, encoder } = &mut *wire;
        let Some(frame) = frame() else { return Ok(false) };
        let mut bytes = BytesMut::new();
        encoder.encode(&frame, &mut bytes);
        sink.write_all(&bytes).await?;
        sink.flush().await?;
        self.clock.touch();
        Ok(true)
    }

    /// A data frame without copying its bytes.
    pub(super) async fn data(&self, id: StreamId, bytes: &[u8], fin: bool) -> io::Result<()> {
        let head = data_head(id, bytes.len(), fin);
        let mut wire = self.wire.lock().await;
        write_both(&mut wire.sink, &head, bytes).await?;
        wire.sink.flush().await?;
        self.clock.touch();
        Ok(())
    }

    /// No more will be written.
    pub(super) async fn shutdown(&self) -> io::Result<()> {
        self.wire.lock().await.sink.shutdown().await
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
