//! exec and attach on a WebSocket: each message belongs to a channel.

use std::sync::Arc;

use hyper::upgrade::Upgraded;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::LINGER;
use super::command::{Command, Told};
use super::outputs::Outputs;
use super::upgrades::Context;
use crate::clock::Clock;
use crate::mux::Gone;
use crate::protocol::{Codec, Version};
use crate::pulse::Pulse;
use crate::request::{Request, Streams};
use crate::resize::Resizes;
use crate::websocket::channels::{self, ChannelError, Said};
use crate::websocket::socket::{Inbox, Messages, socket, split};

/// How messages are to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) version: Version,
    pub(super) codec: Codec,
    pub(super) streams: Streams,
}

struct Reader {
    manner: Manner,
    inbox: Inbox,
    messages: Messages,
    tell: mpsc::Sender<Told>,
    resizes: Resizes,
    pulse: Pulse,
}

pub(super) async fn serve(context: Context, request: Request, manner: Manner, io: Upgraded) {
    let clock = Arc::new(Clock::new());
    let (messages, inbox) = split(socket(io, Role::Server).await, manner.codec, clock.clone());
    let Manner { version, streams, .. } = manner;
    // An empty message tells the client that it has arrived.
    if messages.write(first_channel(streams), b"").await.is_err() {
        return;
    }
    let (tell, told) = mpsc::channel(1);
    let (ended, mut over) = watch::channel(false);
    let (resizes, pulse) = (Resizes::default(), context.pulse());
    let reader = Reader { manner, inbox, messages: messages.clone(), tell, resizes, pulse };
    let reader = tokio::spawn(async move {
        reader.run().await;
        let _ = ended.send(true);
    });
    let outputs = Outputs::Channels { version, messages: messages.clone(), streams };
    let gone = context.gone(over.clone(), clock);
    Command { sessions: context.sessions.clone(), request, outputs, told }.run(gone).await;
    let goodbye = async {
        messages.close(CloseCode::Normal, "").await;
        let _ = over.wait_for(|over| *over).await;
    };
    let _ = timeout(LINGER, goodbye).await;
    reader.abort();
    messages.cut();
}

fn first_channel(streams: Streams) -> u8 {
    if streams.stdout {
        channels::STDOUT
    } else if streams.stderr {
        channels::STDERR
    } else {
        channels::ERROR
    }
}

// === impl Reader ===

impl Reader {
    async fn run(mut self) {
        while let Some(message) = self.inbox.next().await {
            let result = match message {
                Ok(message) => channels::read(message, self.manner.codec, self.manner.version),
                Err(Error::Capacity(_)) => {
                    return self.messages.close(CloseCode::Size, "a message is too long").await;
                }
                Err(_) => return,
            };
            match result {
                Ok(said) => {
                    if self.said(said).await.is_err() {
                        return;
                    }
                }
                Err(ChannelError::Base64) => {}
                Err(e) => return self.messages.close(CloseCode::Protocol, &e.to_string()).await,
            }
        }
    }

    /// What is said on a channel that is not the client's to speak on is dropped, and so is what comes too late.
    async fn said(&mut self, said: Said) -> Result<(), Gone> {
        let told = match said {
            Said::Bytes { channel: channels::STDIN, bytes }
                if self.manner.streams.stdin && !bytes.is_empty() =>
            {
                Some(Told::Stdin(bytes))
            }
            Said::Closed(channels::STDIN) if self.manner.streams.stdin => Some(Told::Close),
            Said::Bytes { channel: channels::RESIZE, bytes } => self.resizes.push(&bytes).map(Told::Resize),
            _ => None,
        };
        match told {
            Some(told) => {
                self.pulse.or(self.tell.send(told), || self.messages.clone().murmur()).await.map(drop)
            }
            None => Ok(()),
        }
    }
}
