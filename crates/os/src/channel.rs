//! The protected channel between our own programs: agent and holder, command line and agent.
//!
//! Blocking, and usable by a reading and a writing thread at once. Only the administrator and our own account get
//! through: a unix socket whose peer is checked, or a named pipe with a protected security descriptor.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sys;

/// Where a channel is found: a socket's path, or a pipe's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Endpoint(PathBuf);

#[derive(Debug)]
pub struct Listener(sys::channel::Listener);

#[derive(Debug)]
pub struct Connection(sys::channel::Connection);

/// The endpoint called `name` of the installation whose run directory this is; other installations get other names.
pub fn endpoint(run_dir: &Path, name: &str) -> Endpoint {
    Endpoint(sys::channel::endpoint(run_dir, name))
}

/// Takes away what a dead listener left at its endpoint. Nobody may be listening there any more.
pub fn remove_leftover(endpoint: &Endpoint) -> io::Result<()> {
    sys::channel::remove_leftover(endpoint)
}

// === impl Endpoint ===

impl Endpoint {
    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl FromStr for Endpoint {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(PathBuf::from(text)))
    }
}

// === impl Listener ===

impl Listener {
    /// `AddrInUse` when somebody answers there already; what a dead process left behind is replaced.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        sys::channel::Listener::bind(endpoint).map(Self)
    }

    /// The next peer that may talk to us; others are dropped without an answer.
    pub fn accept(&self) -> io::Result<Connection> {
        self.0.accept().map(Connection)
    }
}

// === impl Connection ===

impl Connection {
    pub fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        sys::channel::Connection::connect(endpoint).map(Self)
    }

    /// Another handle to the same connection.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Ends the connection for every clone and for the peer; blocked reads return. What was written can still be
    /// read by the peer.
    pub fn shutdown(&self) -> io::Result<()> {
        self.0.shutdown()
    }

    /// Whether the peer is gone, as far as that can be told without reading: for one that nobody reads from now.
    pub fn is_hung_up(&self) -> bool {
        self.0.is_hung_up()
    }

    /// A read that finds nothing for this long fails with `TimedOut`; `None` waits for ever.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout)
    }
}

impl Read for &Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for &Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
