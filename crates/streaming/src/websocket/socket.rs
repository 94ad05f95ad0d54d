//! Limits, and the two halves of a connection.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::clock::Clock;
use crate::cut::Cut;
use crate::mux::Gone;
use crate::protocol::Codec;
use crate::websocket::channels;

pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// kubectl sends 32 KiB at a time; other clients send a small file as one message.
const LARGEST_MESSAGE: usize = 4 << 20;
/// Read at once; more than this is not kept unless a message needs it.
const READ: usize = 16 << 10;
/// What goes out in one message.
const LONGEST_OUT: usize = 32 << 10;

pub(crate) async fn socket(io: Upgraded, role: Role) -> Socket {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ)
        .write_buffer_size(0)
        .max_write_buffer_size(LARGEST_MESSAGE)
        .max_message_size(Some(LARGEST_MESSAGE))
        .max_frame_size(Some(LARGEST_MESSAGE));
    WebSocketStream::from_raw_socket(TokioIo::new(io), role, Some(config)).await
}

/// Writes channels' messages, one at a time. Clones write to the same socket.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    sink: Arc<Mutex<Option<SplitSink<Socket, Message>>>>,
    cut: Arc<Cut>,
    clock: Arc<Clock>,
    codec: Codec,
}

/// Reads messages, whoever they are for. Pings are answered on the way.
#[derive(Debug)]
pub(crate) struct Inbox {
    source: SplitStream<Socket>,
    clock: Arc<Clock>,
}

pub(crate) fn split(socket: Socket, codec: Codec, clock: Arc<Clock>) -> (Messages, Inbox) {
    let (sink, source) = socket.split();
    let sink = Arc::new(Mutex::new(Some(sink)));
    let messages = Messages { sink, cut: Arc::new(Cut::new()), clock: clock.clone(), codec };
    (messages, Inbox { source, clock })
}

// === impl Messages ===

impl Messages {
    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    /// Waits while the peer does not read. No bytes are a message too.
    pub(crate) async fn write(&self, channel: u8, bytes: &[u8]) -> Result<(), Gone> {
        if bytes.is_empty() {
            return self.send(channels::write(channel, bytes, self.codec)).await;
        }
        for piece in bytes.chunks(LONGEST_OUT) {
            self.send(channels::write(channel, piece, self.codec)).await?;
        }
        Ok(())
    }

    pub(crate) async fn send(&self, message: Bytes) -> Result<(), Gone> {
        let message = match self.codec {
            Codec::Binary => Message::Binary(message),
            Codec::Base64 => Message::Text(message.try_into().map_err(|_| Gone)?),
        };
        self.put(message).await
    }

    /// An answer to a ping that nobody has sent, which clients pass over: the connection stays as idle as it was.
    pub(crate) async fn murmur(self) -> Result<(), Gone> {
        self.quietly(Message::Pong(Bytes::new())).await
    }

    async fn put(&self, message: Message) -> Result<(), Gone> {
        let result = self.quietly(message).await;
        self.clock.touch();
        result
    }

    async fn quietly(&self, message: Message) -> Result<(), Gone> {
        let mut sink = self.sink.lock().await;
        let open = sink.as_mut().ok_or(Gone)?;
        let result = self.cut.or(open.send(message)).await;
        if self.cut.is_cut() {
            *sink = None;
        }
        result?.map_err(|_| Gone)
    }

    /// Lets go of the socket, also for those who write or wait just now.
    pub(crate) fn cut(&self) {
        self.cut.cut();
        if let Ok(mut sink) = self.sink.try_lock() {
            *sink = None;
        }
    }

    /// Says that this was all.
    pub(crate) async fn close(&self, code: CloseCode, why: &str) {
        let frame = CloseFrame { code, reason: why.to_owned().into() };
        let _ = self.put(Message::Close(Some(frame))).await;
    }
}

// === impl Inbox ===

impl Inbox {
    /// The next message with something in it, or why there is none; `None` once the peer has closed.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        loop {
            let message = match self.source.next().await? {
                Ok(message) => message,
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => return None,
                Err(e) => return Some(Err(e)),
            };
            self.clock.touch();
            match message {
                Message::Binary(bytes) => return Some(Ok(bytes)),
                Message::Text(text) => return Some(Ok(text.into())),
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}
