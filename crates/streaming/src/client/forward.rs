//! Connections to a pod's ports, all over one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::protocol::Role as SocketRole;

use super::dial::{ClientError, Dialled};
use crate::clock::Clock;
use crate::mux::{Connection, Ends, Piece, Role, Stream};
use crate::protocol::Agreed;
use crate::pulse::Pulse;
use crate::spdy::{Headers, Reset};
use crate::websocket::socket::socket;
use crate::websocket::tunnel;

/// Opens connections. Dropped, it cuts them all.
#[derive(Debug)]
pub struct Forwarder {
    connection: Connection,
    next: AtomicU64,
}

/// One connection to a port.
#[derive(Debug)]
pub struct Forwarded {
    data: Stream,
    error: Stream,
}

// === impl Forwarder ===

impl Forwarder {
    /// `how` is [`Agreed::Forward`] or [`Agreed::Tunnel`].
    pub async fn open(dialled: Dialled, how: Agreed) -> Result<Forwarder, ClientError> {
        let io = dialled.upgrade(how).await?;
        let ends = match how {
            Agreed::Tunnel => tunnel::ends(socket(io, SocketRole::Client).await),
            _ => {
                let (read, write) = tokio::io::split(TokioIo::new(io));
                Ends { read: Box::new(read), write: Box::new(write) }
            }
        };
        let connection = Connection::start(ends, Role::Client, Arc::new(Clock::new()), Pulse::default());
        Ok(Forwarder { connection, next: AtomicU64::new(0) })
    }

    /// Whether the port can be reached is told by what then comes.
    pub async fn connect(&self, port: u16) -> Result<Forwarded, ClientError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let port = port.to_string();
        let headers =
            |kind| Headers::new([("streamType", kind), ("port", port.as_str()), ("requestID", id.as_str())]);
        let error = self.connection.open(headers("error")).await?;
        error.outlet.finish().await?;
        let data = self.connection.open(headers("data")).await?;
        Ok(Forwarded { data, error })
    }
}

// === impl Forwarded ===

impl Forwarded {
    /// Waits while the pod does not read.
    pub async fn write(&self, bytes: &[u8]) -> Result<(), ClientError> {
        Ok(self.data.outlet.write(bytes).await?)
    }

    /// No more is written; the pod may still answer.
    pub async fn finish(&self) -> Result<(), ClientError> {
        Ok(self.data.outlet.finish().await?)
    }

    /// What the pod says. None when it has ended, or was cut off.
    pub async fn next(&mut self) -> Option<Bytes> {
        match self.data.next().await {
            Some(Piece::Data(bytes)) => Some(bytes),
            Some(Piece::Fin) | None => None,
        }
    }

    /// Cuts the connection, and tells what the server had to say about it.
    pub async fn end(mut self) -> String {
        // It may have ended by itself.
        let _ = self.data.outlet.reset(Reset::CANCEL).await;
        let mut text = Vec::new();
        while let Some(Piece::Data(bytes)) = self.error.next().await {
            text.extend_from_slice(&bytes);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}
