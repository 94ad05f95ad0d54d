//! The agent's end of an exec or an attach: one half to listen to, one to speak into.
//!
//! Both block, and may be used by two threads. A reader that is not asked stops the program (exec) or loses the
//! container's output (attach), so whoever has one keeps reading.

use std::io;
use std::sync::Arc;

use os::channel::Connection;
use os::terminal::Size;

use super::ClientError;
use crate::protocol::FrameError;
use crate::stream::{self, Channel, ChunkError, Control, ExecEnd};

/// A connection that carries a process's streams.
#[derive(Debug)]
pub struct Stream {
    /// The process at the other end: the exec'd one, or init.
    pub pid: u32,
    connection: Arc<Connection>,
}

/// What comes, in order; ends after [`Heard::Ended`], [`Heard::Detached`] or [`Heard::Overrun`], or with an error.
#[derive(Debug)]
pub struct StreamReader {
    connection: Arc<Connection>,
    bytes: Vec<u8>,
    over: bool,
}

/// Dropped together with the reader it ends the stream; dropped alone it says nothing.
#[derive(Debug, Clone)]
pub struct StreamWriter {
    connection: Arc<Connection>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// The exec'd process has ended and all it wrote has been heard.
    Ended(ExecEnd),
    /// The container's output has ended and all of it has been heard.
    Detached,
    /// This client was too slow to watch the container; it may attach again.
    Overrun,
}

// === impl Stream ===

impl Stream {
    /// Of a connection that carries chunks from here on, whoever passes them on.
    pub fn new(connection: Connection, pid: u32) -> Result<Stream, ClientError> {
        // Programs may be silent for as long as they like.
        connection.set_read_timeout(None).map_err(FrameError::from)?;
        Ok(Stream { pid, connection: Arc::new(connection) })
    }

    pub fn split(self) -> (StreamReader, StreamWriter) {
        let reader = StreamReader { connection: self.connection.clone(), bytes: Vec::new(), over: false };
        (reader, StreamWriter { connection: self.connection })
    }
}

// === impl StreamReader ===

impl StreamReader {
    fn hear(&mut self) -> Result<Heard, ChunkError> {
        let channel = stream::read(&mut &*self.connection, &mut self.bytes)?;
        match channel {
            Channel::Stdout => Ok(Heard::Stdout(std::mem::take(&mut self.bytes))),
            Channel::Stderr => Ok(Heard::Stderr(std::mem::take(&mut self.bytes))),
            Channel::Control => match serde_json::from_slice(&self.bytes)? {
                Control::Ended(end) => Ok(Heard::Ended(end)),
                Control::Detached => Ok(Heard::Detached),
                Control::Overrun => Ok(Heard::Overrun),
                Control::Resize(_) => Err(ChunkError::Direction(Channel::Control)),
            },
            Channel::Stdin => Err(ChunkError::Direction(Channel::Stdin)),
        }
    }
}

impl Iterator for StreamReader {
    type Item = Result<Heard, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let heard = self.hear();
        self.over = !matches!(heard, Ok(Heard::Stdout(_) | Heard::Stderr(_)));
        Some(heard.map_err(ClientError::from))
    }
}

// === impl StreamWriter ===

impl StreamWriter {
    /// Input for the process. Waits while it does not read.
    pub fn stdin(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        // No bytes would be the end.
        if bytes.is_empty() { Ok(()) } else { self.put(Channel::Stdin, bytes) }
    }

    /// No more input will come.
    pub fn close_stdin(&mut self) -> Result<(), ClientError> {
        self.put(Channel::Stdin, b"")
    }

    /// The window has another size now. Without effect where there is no terminal.
    pub fn resize(&mut self, size: Size) -> Result<(), ClientError> {
        Ok(stream::write_control(&mut &*self.connection, &Control::Resize(size))?)
    }

    /// Ends the stream from any thread, whoever reads or writes it: as if this client had died.
    pub fn hang_up(&self) -> io::Result<()> {
        self.connection.shutdown()
    }

    fn put(&mut self, channel: Channel, bytes: &[u8]) -> Result<(), ClientError> {
        Ok(stream::write(&mut &*self.connection, channel, bytes).map_err(ChunkError::from)?)
    }
}
