//! Messages as one stream of bytes, for SPDY inside: where a message ends means nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::socket::Socket;
use crate::mux::Ends;

/// What goes out in one message: clients have room for that and a little more.
const LONGEST: usize = 32 << 10;

struct Read {
    source: SplitStream<Socket>,
    unread: Bytes,
}

struct Write {
    sink: SplitSink<Socket, Message>,
}

pub(crate) fn ends(socket: Socket) -> Ends {
    let (sink, source) = socket.split();
    Ends { read: Box::new(Read { source, unread: Bytes::new() }), write: Box::new(Write { sink }) }
}

// === impl Read ===

impl AsyncRead for Read {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            match ready!(Pin::new(&mut self.source).poll_next(cx)) {
                Some(Ok(Message::Binary(bytes))) => self.unread = bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Text(_))) => {
                    return Poll::Ready(Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "text in a tunnel of bytes",
                    )));
                }
                None | Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed)) => {
                    return Poll::Ready(Ok(()));
                }
                Some(Err(e)) => return Poll::Ready(Err(failed(e))),
            }
        }
        let length = self.unread.len().min(buf.remaining());
        buf.put_slice(&self.unread[..length]);
        self.unread.advance(length);
        Poll::Ready(Ok(()))
    }
}

// === impl Write ===

impl AsyncWrite for Write {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.sink).poll_ready(cx)).map_err(failed)?;
        let length = buf.len().min(LONGEST);
        let message = Message::Binary(Bytes::copy_from_slice(&buf[..length]));
        Pin::new(&mut self.sink).start_send(message).map_err(failed)?;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_flush(cx).map_err(failed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.sink).poll_close(cx).map_err(failed)
    }
}

fn failed(error: Error) -> io::Error {
    match error {
        Error::Io(e) => e,
        other => io::Error::other(other),
    }
}
