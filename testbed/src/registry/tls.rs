//! TLS in front of a registry, so that clients meet certificates.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use super::Registry;
use crate::webhook::{Ca, Pair};

/// An address with TLS. Dropping it ends it and its connections.
#[derive(Debug)]
pub struct Front {
    address: SocketAddr,
    _runtime: Runtime,
}

// === impl Registry ===

impl Registry {
    /// As [`Registry::with_tls`], for clients only that show a certificate of the other authority.
    pub fn with_tls_for(&self, ca: &Ca, clients: &Ca) -> Result<Front> {
        Front::listen(self.address(), configuration(&ca.issue(&["127.0.0.1"])?, Some(clients))?)
    }
}

// === impl Front ===

impl Front {
    pub(super) fn start(to: SocketAddr, pair: &Pair) -> Result<Self> {
        Self::listen(to, configuration(pair, None)?)
    }

    fn listen(to: SocketAddr, config: ServerConfig) -> Result<Self> {
        let acceptor = TlsAcceptor::from(Arc::new(config));
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

/// Clients that do not like the certificate go away, and those are sent away whose own is not liked: that is what tests
/// are about.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, to: SocketAddr) {
    match acceptor.accept(stream).into_fallible().await {
        Ok(mut sealed) => {
            if let Ok(mut plain) = TcpStream::connect(to).await {
                let _ = tokio::io::copy_bidirectional(&mut sealed, &mut plain).await;
            }
        }
        Err((_, stream)) => part(stream).await,
    }
}

/// A connection that is closed with bytes unread is reset, and then the client may never see why: its request is read.
async fn part(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

fn configuration(pair: &Pair, clients: Option<&Ca>) -> Result<ServerConfig> {
    let certificate =
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).context("the certificate")?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).context("the key")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            roots.add(
                CertificateDer::from_pem_slice(ca.pem().as_bytes()).context("the clients' authority")?,
            )?;
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    builder.with_single_cert(vec![certificate], key).context("the pair")
}
