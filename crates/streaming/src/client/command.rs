//! A remote process: what it is told and what it says.

use std::sync::Arc;

use bytes::Bytes;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::protocol::Role as SocketRole;

use super::dial::{ClientError, Dialled};
use crate::clock::Clock;
use crate::mux::{Connection, Ends, Outlet, Piece, Role, Stream};
use crate::protocol::{Agreed, Codec, Version};
use crate::pulse::Pulse;
use crate::request::Streams;
use crate::resize::document;
use crate::session::Size;
use crate::spdy::Headers;
use crate::status::Outcome;
use crate::websocket::channels::{self, Said};
use crate::websocket::socket::{Inbox, Messages, socket, split};

/// A session. Dropped, it hangs up.
#[derive(Debug)]
pub struct Remote {
    wire: Wire,
    version: Version,
    /// What the error stream has said so far.
    error: Vec<u8>,
    ended: bool,
}

#[derive(Debug)]
enum Wire {
    Spdy(Box<Opened>),
    Channels { messages: Messages, inbox: Inbox },
}

#[derive(Debug)]
struct Opened {
    /// Held only: dropped, it is cut.
    _connection: Connection,
    stdin: Option<Stream>,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    error: Option<Stream>,
    resize: Option<Stream>,
}

/// The part of a session that speaks. Clones speak to the same process.
#[derive(Debug, Clone)]
pub struct Speaker(Mouth);

#[derive(Debug, Clone)]
enum Mouth {
    Spdy { stdin: Option<Outlet>, resize: Option<Outlet> },
    Channels { messages: Messages, version: Version },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Stdout(Bytes),
    Stderr(Bytes),
    Ended(Outcome),
}

/// More than any status.
const LONGEST_ERROR: usize = 1 << 20;

// === impl Remote ===

impl Remote {
    /// `how` is [`Agreed::Command`] or [`Agreed::Channels`]; `streams` are those of the request behind the URL.
    pub async fn open(dialled: Dialled, streams: Streams, how: Agreed) -> Result<Remote, ClientError> {
        let io = dialled.upgrade(how).await?;
        let (wire, version) = match how {
            Agreed::Command(version) => (spdy(io, streams, version).await?, version),
            Agreed::Channels(version, codec) => (over_channels(io, codec).await, version),
            _ => return Err(ClientError::Handshake),
        };
        Ok(Remote { wire, version, error: Vec::new(), ended: false })
    }

    pub fn speaker(&self) -> Speaker {
        Speaker(match &self.wire {
            Wire::Spdy(opened) => Mouth::Spdy {
                stdin: opened.stdin.as_ref().map(|stream| stream.outlet.clone()),
                resize: opened.resize.as_ref().map(|stream| stream.outlet.clone()),
            },
            Wire::Channels { messages, .. } => {
                Mouth::Channels { messages: messages.clone(), version: self.version }
            }
        })
    }

    /// What the process says, and in the end how it ended.
    pub async fn next(&mut self) -> Option<Heard> {
        if self.ended {
            return None;
        }
        let heard = match &mut self.wire {
            Wire::Spdy(opened) => opened.next(&mut self.error).await,
            Wire::Channels { inbox, messages } => {
                next_message(inbox, messages.codec(), self.version, &mut self.error).await
            }
        };
        Some(heard.unwrap_or_else(|| {
            self.ended = true;
            Heard::Ended(Outcome::read(self.version, &self.error))
        }))
    }
}

impl Drop for Remote {
    /// Speakers may live on; what they speak into does not.
    fn drop(&mut self) {
        if let Wire::Channels { messages, .. } = &self.wire {
            messages.cut();
        }
    }
}

async fn spdy(io: Upgraded, streams: Streams, version: Version) -> Result<Wire, ClientError> {
    let (read, write) = tokio::io::split(TokioIo::new(io));
    let ends = Ends { read: Box::new(read), write: Box::new(write) };
    let connection = Connection::start(ends, Role::Client, Arc::new(Clock::new()), Pulse::default());
    let open = async |wanted: bool, kind: &str| match wanted {
        true => connection.open(Headers::new([("streamType", kind)])).await.map(Some),
        false => Ok(None),
    };
    let error = open(true, "error").await?;
    let stdin = open(streams.stdin, "stdin").await?;
    let stdout = open(streams.stdout, "stdout").await?;
    let stderr = open(streams.stderr, "stderr").await?;
    let resize = open(streams.tty && version.resizes(), "resize").await?;
    Ok(Wire::Spdy(Box::new(Opened { _connection: connection, stdin, stdout, stderr, error, resize })))
}

async fn over_channels(io: Upgraded, codec: Codec) -> Wire {
    let socket = socket(io, SocketRole::Client).await;
    let (messages, inbox) = split(socket, codec, Arc::new(Clock::new()));
    Wire::Channels { messages, inbox }
}

async fn next_message(
    inbox: &mut Inbox,
    codec: Codec,
    version: Version,
    error: &mut Vec<u8>,
) -> Option<Heard> {
    while let Some(Ok(message)) = inbox.next().await {
        match channels::read(message, codec, version) {
            Ok(Said::Bytes { bytes, .. }) if bytes.is_empty() => {}
            Ok(Said::Bytes { channel: channels::STDOUT, bytes }) => return Some(Heard::Stdout(bytes)),
            Ok(Said::Bytes { channel: channels::STDERR, bytes }) => return Some(Heard::Stderr(bytes)),
            Ok(Said::Bytes { channel: channels::ERROR, bytes }) => append(error, &bytes),
            _ => {}
        }
    }
    None
}

fn append(error: &mut Vec<u8>, bytes: &[u8]) {
    let room = LONGEST_ERROR.saturating_sub(error.len());
    error.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

// === impl Opened ===

impl Opened {
    /// None once every stream has ended.
    async fn next(&mut self, said: &mut Vec<u8>) -> Option<Heard> {
        while self.stdout.is_some() || self.stderr.is_some() || self.error.is_some() {
            tokio::select! {
                piece = next_of(&mut self.stdout) => match piece {
                    Some(bytes) => return Some(Heard::Stdout(bytes)),
                    None => self.stdout = None,
                },
                piece = next_of(&mut self.stderr) => match piece {
                    Some(bytes) => return Some(Heard::Stderr(bytes)),
                    None => self.stderr = None,
                },
                piece = next_of(&mut self.error) => match piece {
                    Some(bytes) => append(said, &bytes),
                    None => self.error = None,
                },
            }
        }
        None
    }
}

/// Waits for ever where there is no stream.
async fn next_of(stream: &mut Option<Stream>) -> Option<Bytes> {
    match stream {
        None => std::future::pending().await,
        Some(stream) => match stream.next().await {
            Some(Piece::Data(bytes)) => Some(bytes),
            Some(Piece::Fin) | None => None,
        },
    }
}

// === impl Speaker ===

impl Speaker {
    /// Waits while the process does not read.
    pub async fn stdin(&self, bytes: &[u8]) -> Result<(), ClientError> {
        match &self.0 {
            Mouth::Spdy { stdin, .. } => Ok(stdin.as_ref().ok_or(ClientError::Gone)?.write(bytes).await?),
            Mouth::Channels { messages, .. } => Ok(messages.write(channels::STDIN, bytes).await?),
        }
    }

    /// No more input comes. Channels cannot say that before version 5, and then say nothing.
    pub async fn close(&self) -> Result<(), ClientError> {
        match &self.0 {
            Mouth::Spdy { stdin, .. } => Ok(stdin.as_ref().ok_or(ClientError::Gone)?.finish().await?),
            Mouth::Channels { version, .. } if *version < Version::V5 => Ok(()),
            Mouth::Channels { messages, .. } => Ok(messages.send(channels::close(channels::STDIN)).await?),
        }
    }

    pub async fn resize(&self, size: Size) -> Result<(), ClientError> {
        let document = document(size);
        match &self.0 {
            Mouth::Spdy { resize, .. } => {
                Ok(resize.as_ref().ok_or(ClientError::Gone)?.write(&document).await?)
            }
            Mouth::Channels { messages, .. } => Ok(messages.write(channels::RESIZE, &document).await?),
        }
    }
}
