//! The protected channel for servers with many clients at once: who may talk is as for [`crate::channel`], reading and
//! writing is tokio's.

use std::io;

use crate::channel::Endpoint;
use crate::sys;

/// One client's connection.
pub type Stream = sys::incoming::Stream;

/// An endpoint that clients come to.
#[derive(Debug)]
pub struct Incoming(sys::incoming::Incoming);

// === impl Incoming ===

impl Incoming {
    /// As [`crate::channel::Listener::bind`]. To be called within a tokio runtime.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        sys::incoming::Incoming::bind(endpoint).map(Self)
    }

    /// The next peer that may talk to us; others are dropped without an answer.
    pub async fn accept(&mut self) -> io::Result<Stream> {
        self.0.accept().await
    }
}
