//! The listener: `/exec/TOKEN`, `/attach/TOKEN` and `/portforward/TOKEN`.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::ALLOW;
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::config::Config;
use crate::serve::upgrades::{Upgrades, text};
use crate::session::Sessions;
use crate::tickets::Tickets;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);
/// For a request's head to arrive, idle time counted in.
const HEAD_LIMIT: Duration = Duration::from_secs(30);
/// A kubelet sends a few hundred bytes.
const LARGEST_HEAD: usize = 16 << 10;
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// After an error of `accept` (too many open files) another try at once would only burn time.
const PAUSE: Duration = Duration::from_millis(50);

/// Serves whoever has a token.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    config: Arc<Config>,
    routes: Arc<Routes>,
}

#[derive(Debug)]
struct Routes {
    tickets: Tickets,
    upgrades: Upgrades,
}

// === impl Server ===

impl Server {
    pub async fn bind(config: Config, sessions: Arc<dyn Sessions>) -> io::Result<Server> {
        let listener = TcpListener::bind(config.address).await?;
        let address = listener.local_addr()?;
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let host = config.advertise.clone().unwrap_or_else(|| address.to_string());
        let tickets = Tickets::new(&format!("{scheme}://{host}"), config.token_life, config.most_tokens);
        let config = Arc::new(config);
        let upgrades = Upgrades::new(config.clone(), sessions);
        Ok(Server { listener, config, routes: Arc::new(Routes { tickets, upgrades }) })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where URLs come from.
    pub fn tickets(&self) -> Tickets {
        self.routes.tickets.clone()
    }

    /// Serves until `stop`, then hangs up on everybody. False if some session did not end in time.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let permits = Arc::new(Semaphore::new(self.config.most_connections));
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (stream, permit) = self.accept(&permits) => {
                    connections.spawn(serve(stream, permit, self.config.clone(), self.routes.clone()));
                }
            }
        }
        connections.shutdown().await;
        match Arc::into_inner(self.routes) {
            Some(routes) => routes.upgrades.stop(DRAIN_LIMIT).await,
            None => false,
        }
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
}

async fn serve(
    stream: TcpStream,
    permit: Option<OwnedSemaphorePermit>,
    config: Arc<Config>,
    routes: Arc<Routes>,
) {
    // Keys that somebody types must not wait for more.
    let _ = stream.set_nodelay(true);
    match &config.tls {
        None => http(stream, routes).await,
        Some(tls) => {
            let acceptor = TlsAcceptor::from(tls.clone());
            if let Ok(Ok(stream)) = timeout(HANDSHAKE_LIMIT, acceptor.accept(stream)).await {
                http(stream, routes).await;
            }
        }
    }
    drop(permit);
}

async fn http(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, routes: Arc<Routes>) {
    let service = service_fn(move |request| {
        let response = routes.answer(request);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_LIMIT).max_buf_size(LARGEST_HEAD);
    // A client that goes away is its own affair.
    let _ = builder.serve_connection(TokioIo::new(io), service).with_upgrades().await;
}

// === impl Routes ===

impl Routes {
    fn answer(&self, request: http::Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path().to_owned();
        let mut parts = path.trim_start_matches('/').split('/');
        let (Some(verb @ ("exec" | "attach" | "portforward")), Some(token), None) =
            (parts.next(), parts.next(), parts.next())
        else {
            return text(StatusCode::NOT_FOUND, "there is nothing here");
        };
        if !matches!(*request.method(), Method::GET | Method::POST) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "sessions begin with GET or POST");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST"));
            return response;
        }
        match self.tickets.redeem(verb, token) {
            Some(wanted) => self.upgrades.answer(wanted, request),
            None => text(StatusCode::NOT_FOUND, "no such token, or it was used, or its minute is over"),
        }
    }
}
