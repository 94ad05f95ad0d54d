//! Connections: so many, so long, and none cut off at the end before its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::state::State;

/// An API server keeps a handful; more wait in the kernel's queue.
const CONNECTIONS: usize = 256;
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);
/// For the next request's head to arrive, idle time counted in: as long as an API server keeps a connection.
const IDLE_LIMIT: Duration = Duration::from_secs(90);
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// After an error of `accept` (too many open files) another try at once would only burn time.
const PAUSE: Duration = Duration::from_millis(50);

/// Takes connections and serves them.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    tls: Arc<rustls::ServerConfig>,
    routes: Router,
    state: Arc<State>,
}

// === impl Server ===

impl Server {
    pub(crate) fn new(
        listener: TcpListener,
        tls: rustls::ServerConfig,
        routes: Router,
        state: Arc<State>,
    ) -> Self {
        Self { listener, tls: Arc::new(tls), routes, state }
    }

    /// Serves until `stop`, then lets open requests end. False if some did not in time.
    pub(crate) async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let graceful = GracefulShutdown::new();
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                (stream, permit) = self.accept(&permits) => self.spawn(stream, permit, graceful.watcher()),
            }
        }
        self.state.leave();
        drop(self.listener);
        timeout(DRAIN_LIMIT, graceful.shutdown()).await.is_ok()
    }

    async fn accept(&self, permits: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
        // Nobody closes the semaphore, so there always is a permit.
        let permit = Arc::clone(permits).acquire_owned().await.ok();
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return (stream, permit),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn spawn(&self, stream: TcpStream, permit: Option<OwnedSemaphorePermit>, watcher: Watcher) {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.tls));
        let service = TowerToHyperService::new(self.routes.clone());
        let connections = self.state.metrics.connections.clone();
        tokio::spawn(async move {
            connections.inc();
            // Answers are small and whole: waiting for more of them only delays.
            let _ = stream.set_nodelay(true);
            if let Ok(Ok(stream)) = timeout(HANDSHAKE_LIMIT, acceptor.accept(stream)).await {
                let connection = builder().serve_connection(TokioIo::new(stream), service);
                // A client that goes away is its own affair.
                let _ = watcher.watch(connection).await;
            }
            connections.dec();
            drop(permit);
        });
    }
}

/// HTTP/1.1 alone: an API server calls webhooks with nothing else, and less can be done with less.
fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE_LIMIT);
    builder
}

/// Binds the listener; with port 0 the system chooses.
pub(crate) async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}
