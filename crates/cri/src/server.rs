//! Serving CRI until it is asked to stop. Containers do not notice: they have their holders.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use os::incoming::Incoming;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tonic::service::Routes;

use crate::api::image_service_server::ImageServiceServer;
use crate::api::runtime_service_server::RuntimeServiceServer;
use crate::listen::Listen;
use crate::service::Cri;

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listen: Listen,
    door: Door,
}

#[derive(Debug)]
enum Door {
    Channel(Incoming),
    Tcp(TcpListener),
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("listen at {listen}")]
    Listen { listen: Listen, source: io::Error },
}

/// How long calls that are under way may take when the end was asked for.
const DRAIN: Duration = Duration::from_secs(10);
/// A kubelet sends and takes messages of up to 16 MiB.
const LONGEST_MESSAGE: usize = 16 << 20;
/// What to wait for after a failed accept: out of descriptors, mostly.
const PAUSE: Duration = Duration::from_millis(100);

// === impl Server ===

impl Server {
    /// Takes the place; one where somebody answers already is an error, what a dead one left is replaced.
    pub async fn bind(listen: Listen) -> Result<Server, ServerError> {
        let bound = match &listen {
            Listen::Channel(endpoint) => Incoming::bind(endpoint).map(Door::Channel),
            Listen::Tcp(address) => TcpListener::bind(address).await.map(Door::Tcp),
        };
        match bound {
            Ok(door) => Ok(Server { listen: door.address().map_or(listen, Listen::Tcp), door }),
            Err(source) => Err(ServerError::Listen { listen, source }),
        }
    }

    /// Where it listens, with the port that the system chose.
    pub fn listen(&self) -> &Listen {
        &self.listen
    }

    /// Serves until `stop`; then no new call is taken, and those under way have their time. True if all were done.
    pub async fn run(mut self, cri: Cri, stop: impl Future<Output = ()>) -> bool {
        let routes = routes(&cri);
        let graceful = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                came = self.door.accept() => match came {
                    Ok(client) => serve(client, routes.clone(), &graceful),
                    // The next one may find us better.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
            }
        }
        if let Listen::Channel(endpoint) = &self.listen {
            // What cannot be removed is replaced by the next one.
            drop(os::channel::remove_leftover(endpoint));
        }
        // Those who only watch would never be done.
        cri.close_events();
        tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_ok()
    }
}

trait Client: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Client for T {}

fn routes(cri: &Cri) -> Routes {
    let runtime = RuntimeServiceServer::new(cri.clone())
        .max_decoding_message_size(LONGEST_MESSAGE)
        .max_encoding_message_size(usize::MAX);
    let images = ImageServiceServer::new(cri.clone()).max_decoding_message_size(LONGEST_MESSAGE);
    Routes::new(runtime).add_service(images).prepare()
}

fn serve(client: Box<dyn Client>, routes: Routes, graceful: &GracefulShutdown) {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).max_concurrent_streams(None);
    let connection = builder.serve_connection(TokioIo::new(client), TowerToHyperService::new(routes));
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        // A client that went away in the middle is its own affair.
        drop(watched.await);
    });
}

// === impl Door ===

impl Door {
    async fn accept(&mut self) -> io::Result<Box<dyn Client>> {
        Ok(match self {
            Door::Channel(incoming) => Box::new(incoming.accept().await?),
            Door::Tcp(listener) => Box::new(listener.accept().await?.0),
        })
    }

    fn address(&self) -> Option<SocketAddr> {
        match self {
            Door::Channel(_) => None,
            Door::Tcp(listener) => listener.local_addr().ok(),
        }
    }
}
