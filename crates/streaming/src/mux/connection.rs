//! Both ends of a connection: accepting, opening, going away.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::PIECE;
use super::reader::Reader;
use super::stream::{Gone, Outlet, Stream};
use super::table::Table;
use super::writer::Writer;
use crate::clock::Clock;
use crate::pulse::Pulse;
use crate::spdy::{Frame, GoAwayStatus, Headers};

/// Streams that were opened and not yet looked at.
const BACKLOG: usize = 8;

/// The two directions of a byte stream.
pub(crate) struct Ends {
    pub(crate) read: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) write: Box<dyn AsyncWrite + Send + Unpin>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// A connection whose frames are being read. Dropped, it is cut.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    incoming: mpsc::Receiver<Stream>,
    over: watch::Receiver<bool>,
    reader: JoinHandle<()>,
}

pub(super) struct Shared {
    pub(super) writer: Writer,
    table: Mutex<Table>,
    pub(super) role: Role,
}

// === impl Role ===

impl Role {
    /// How much is read at once. A server has hundreds of connections; a client has one, and would rather be quick.
    pub(super) fn reads(self) -> usize {
        match self {
            Role::Client => 4 * PIECE,
            Role::Server => PIECE,
        }
    }
}

// === impl Connection ===

impl Connection {
    pub(crate) fn start(ends: Ends, role: Role, clock: Arc<Clock>, pulse: Pulse) -> Connection {
        let first = if role == Role::Client { 1 } else { 2 };
        let writer = Writer::new(ends.write, clock.clone());
        let shared = Arc::new(Shared { writer, table: Mutex::new(Table::new(first)), role });
        let (accept, incoming) = mpsc::channel(BACKLOG);
        let (ended, over) = watch::channel(false);
        let reader = Reader { source: ends.read, shared: shared.clone(), accept, clock, pulse };
        let reader = tokio::spawn(async move {
            reader.run().await;
            let _ = ended.send(true);
        });
        Connection { shared, incoming, over, reader }
    }

    /// The next stream that the peer opens. None once the connection is over.
    pub(crate) async fn accept(&mut self) -> Option<Stream> {
        self.incoming.recv().await
    }

    /// Opens a stream and waits until the peer has taken it.
    pub(crate) async fn open(&self, headers: Headers) -> Result<Stream, Gone> {
        let mut opened = None;
        let frame = || {
            let (id, pieces, replied) = self.shared.table().open()?;
            opened = Some((id, pieces, replied));
            let headers = headers.clone();
            Some(Frame::SynStream {
                id,
                associated: 0,
                priority: 0,
                fin: false,
                unidirectional: false,
                headers,
            })
        };
        self.shared.writer.open(frame).await?;
        let (id, pieces, replied) = opened.ok_or(Gone)?;
        replied.await.map_err(|_| Gone)?;
        Ok(Stream { headers, outlet: Outlet { id, shared: self.shared.clone() }, pieces })
    }

    /// Tells when nothing more comes from the peer.
    pub(crate) fn over(&self) -> watch::Receiver<bool> {
        self.over.clone()
    }

    /// Says that this is the end and lets the peer close first, for as long as is given: whoever closes with unread bytes
    /// in his queue takes the last answer back from the peer, or from a proxy between the two.
    pub(crate) async fn close(mut self, patience: Duration) {
        let last = self.shared.table().heard;
        let goodbye = async {
            if self.shared.writer.frame(&Frame::GoAway { last, status: GoAwayStatus::OK }).await.is_ok() {
                // What the peer still says, nobody hears.
                self.shared.table().end();
                while self.incoming.recv().await.is_some() {}
                let _ = self.over.wait_for(|over| *over).await;
            }
            let _ = self.shared.writer.shutdown().await;
        };
        let _ = timeout(patience, goodbye).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
        self.shared.writer.cut();
        self.shared.table().end();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("role", &self.shared.role).finish_non_exhaustive()
    }
}

// === impl Shared ===

impl Shared {
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
