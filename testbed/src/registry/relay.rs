//! A registry's address in another network.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::net::listen_in;

/// An address elsewhere that leads to a registry. Dropping it ends it and its connections.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    _runtime: Runtime,
}

// === impl Relay ===

impl Relay {
    pub(super) fn start(to: SocketAddr, namespace: &Path, address: SocketAddr) -> Result<Self> {
        let listener = listen_in(namespace, address)?;
        let address = listener.local_addr().context("address of the relay")?;
        listener.set_nonblocking(true).context("make the relay's socket asynchronous")?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener).context("take the relay's socket")?
        };
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, to));
            }
        });
        Ok(Self { address, _runtime: runtime })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A side that goes away is what the other one then sees.
async fn serve(mut near: TcpStream, to: SocketAddr) {
    if let Ok(mut far) = TcpStream::connect(to).await {
        // Many small answers: each would wait for the other side's delayed acknowledgement.
        let _ = near.set_nodelay(true).and_then(|()| far.set_nodelay(true));
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    }
}
