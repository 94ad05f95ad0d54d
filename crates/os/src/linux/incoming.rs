//! Clients of a Unix socket, as tokio has them.

use std::io;

use tokio::net::UnixListener;

use super::channel::{Listener, is_welcome};
use crate::channel::Endpoint;

pub(crate) type Stream = tokio::net::UnixStream;

#[derive(Debug)]
pub(crate) struct Incoming(UnixListener);

// === impl Incoming ===

impl Incoming {
    pub(crate) fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let Listener(listener) = Listener::bind(endpoint)?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener).map(Self)
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Stream> {
        loop {
            let (stream, _) = self.0.accept().await?;
            // One that is gone already is nobody to serve.
            if is_welcome(&stream).unwrap_or(false) {
                return Ok(stream);
            }
        }
    }
}
