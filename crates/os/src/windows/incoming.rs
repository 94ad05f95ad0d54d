//! Clients of a named pipe, as tokio has them.

use std::io;
use std::os::windows::io::{IntoRawHandle, OwnedHandle};

use tokio::net::windows::named_pipe::NamedPipeServer;

use super::channel::{Listener, instance};
use super::security::Descriptor;
use crate::channel::Endpoint;

pub(crate) type Stream = NamedPipeServer;

#[derive(Debug)]
pub(crate) struct Incoming {
    name: Vec<u16>,
    descriptor: Descriptor,
    /// The instance that the next client will find.
    next: NamedPipeServer,
}

// === impl Incoming ===

impl Incoming {
    pub(crate) fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let (name, descriptor, first) = Listener::bind(endpoint)?.into_parts();
        Ok(Self { name, descriptor, next: server(first)? })
    }

    pub(crate) async fn accept(&mut self) -> io::Result<Stream> {
        loop {
            let came = self.next.connect().await;
            // The next client must find an instance before this one is served.
            let next = server(instance(&self.name, &self.descriptor, 0)?)?;
            let served = std::mem::replace(&mut self.next, next);
            // One that is gone already is nobody to serve.
            if came.is_ok() {
                return Ok(served);
            }
        }
    }
}

fn server(instance: OwnedHandle) -> io::Result<NamedPipeServer> {
    // SAFETY: an overlapped instance of a pipe that nobody else has, given away here.
    unsafe { NamedPipeServer::from_raw_handle(instance.into_raw_handle()) }
}
