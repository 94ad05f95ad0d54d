//! port-forward on a WebSocket's channels: for port number i, bytes on channel 2i and an error on channel 2i + 1.
//!
//! What came before the tunnel. Each port can be connected to once, and the ports are named beforehand.

use std::sync::Arc;

use hyper::upgrade::Upgraded;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::LINGER;
use super::forward::connect;
use super::upgrades::Context;
use crate::clock::Clock;
use crate::mux::{PIECE, QUEUE};
use crate::protocol::{Codec, Version};
use crate::pulse::Pulse;
use crate::request::PortForwardRequest;
use crate::session::Sessions;
use crate::websocket::channels::{self, Said};
use crate::websocket::socket::{Inbox, Messages, socket, split};

/// Channels have one byte for a number, and the last one means something else.
pub(super) const MOST_PORTS: usize = 127;

type Senders = Vec<mpsc::Sender<bytes::Bytes>>;

pub(super) async fn serve(context: Context, request: PortForwardRequest, codec: Codec, io: Upgraded) {
    let clock = Arc::new(Clock::new());
    let (messages, inbox) = split(socket(io, Role::Server).await, codec, clock.clone());
    let pod: Arc<str> = request.pod.into();
    let mut forwards = JoinSet::new();
    let mut senders = Vec::new();
    for (channel, port) in (0u8..).step_by(2).zip(request.ports) {
        let (sender, received) = mpsc::channel(QUEUE);
        senders.push(sender);
        let port = Port { sessions: context.sessions.clone(), pod: pod.clone(), port, channel };
        forwards.spawn(port.forward(messages.clone(), received));
    }
    let (ended, mut over) = watch::channel(false);
    let (murmurs, pulse) = (messages.clone(), context.pulse());
    let reader = tokio::spawn(async move {
        read(inbox, codec, &murmurs, pulse, senders).await;
        let _ = ended.send(true);
    });
    tokio::select! {
        () = context.gone(over.clone(), clock) => forwards.shutdown().await,
        () = async { while forwards.join_next().await.is_some() {} } => {}
    }
    let goodbye = async {
        messages.close(CloseCode::Normal, "").await;
        let _ = over.wait_for(|over| *over).await;
    };
    let _ = timeout(LINGER, goodbye).await;
    reader.abort();
    messages.cut();
}

/// Hands messages to their ports; a port whose connection has ended hears no more.
async fn read(mut inbox: Inbox, codec: Codec, messages: &Messages, mut pulse: Pulse, senders: Senders) {
    while let Some(Ok(message)) = inbox.next().await {
        if let Ok(Said::Bytes { channel, bytes }) = channels::read(message, codec, Version::V4)
            && channel % 2 == 0
            && let Some(sender) = senders.get(usize::from(channel / 2))
        {
            // Also to one that takes none: whoever has left is noticed all the same.
            if pulse.or(sender.send(bytes), || messages.clone().murmur()).await.is_err() {
                return;
            }
        }
    }
}

struct Port {
    sessions: Arc<dyn Sessions>,
    pod: Arc<str>,
    port: u16,
    channel: u8,
}

// === impl Port ===

impl Port {
    async fn forward(self, messages: Messages, received: mpsc::Receiver<bytes::Bytes>) {
        let Port { sessions, pod, port, channel } = self;
        // Each channel begins with its port.
        for channel in [channel, channel + 1] {
            if messages.write(channel, &port.to_le_bytes()).await.is_err() {
                return;
            }
        }
        match connect(sessions, pod.clone(), port).await {
            Ok(connection) => {
                let (read, write) = connection.into_split();
                let mut to_pod = JoinSet::new();
                to_pod.spawn(carry_to_pod(received, write));
                // A channel has no end but the socket's, so the pod's end is the connection's.
                carry_from_pod(read, &messages, channel).await;
            }
            Err(e) => {
                let text = format!("error forwarding port {port} to pod {pod}: {e}");
                let _ = messages.write(channel + 1, text.as_bytes()).await;
            }
        }
    }
}

async fn carry_to_pod(mut received: mpsc::Receiver<bytes::Bytes>, mut write: OwnedWriteHalf) {
    while let Some(bytes) = received.recv().await {
        if write.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn carry_from_pod(mut read: OwnedReadHalf, messages: &Messages, channel: u8) {
    let mut buffer = vec![0; PIECE];
    while let Ok(length @ 1..) = read.read(&mut buffer).await {
        if messages.write(channel, &buffer[..length]).await.is_err() {
            return;
        }
    }
}
