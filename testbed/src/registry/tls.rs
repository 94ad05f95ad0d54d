//! TLS in front of a registry, so that clients meet certificates.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::webhook::Pair;

/// An address with TLS. Dropping it ends it and its connections.
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    _runtime: Runtime,
}

// === impl Front ===

impl Front {
    pub(super) fn start(to: SocketAddr, pair: &Pair) -> Result<Self> {
        let acceptor = TlsAcceptor::from(Arc::new(configuration(pair)?));
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).context("listen on loopback")?;
        let address = listener.local_addr().context("address of the TLS front")?;
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, to));
            }
        });
        Ok(Self { address, _runtime: runtime })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Clients that do not like the certificate go away: that is what tests are about.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, to: SocketAddr) {
    if let (Ok(mut sealed), Ok(mut plain)) = (acceptor.accept(stream).await, TcpStream::connect(to).await) {
        let _ = tokio::io::copy_bidirectional(&mut sealed, &mut plain).await;
    }
}

fn configuration(pair: &Pair) -> Result<ServerConfig> {
    let certificate =
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).context("the certificate")?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).context("the key")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    builder.with_no_client_auth().with_single_cert(vec![certificate], key).context("the pair")
}
