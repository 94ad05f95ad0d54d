//! Judging a request, answering it, and what then runs beside it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::by_channels::Manner;
use super::forward_channels::MOST_PORTS;
use super::{by_channels, by_spdy, forward, forward_channels};
use crate::clock::Clock;
use crate::config::Config;
use crate::handshake::judge;
use crate::mux::Ends;
use crate::protocol::{Agreed, COMMAND_SPDY, COMMAND_WEBSOCKET, FORWARD_SPDY, FORWARD_WEBSOCKET};
use crate::pulse::Pulse;
use crate::request::{Request, Streams};
use crate::session::Sessions;
use crate::websocket::socket::socket;
use crate::websocket::tunnel;

/// Turns requests that somebody has allowed into sessions: for servers that have routes and rules of their own.
pub struct Upgrades {
    context: Context,
    places: Arc<Semaphore>,
    stop: watch::Sender<bool>,
    /// Closed when the last session has dropped its end.
    ended: tokio::sync::Mutex<mpsc::Receiver<()>>,
}

/// What every session has.
#[derive(Clone)]
pub(crate) struct Context {
    pub(super) config: Arc<Config>,
    pub(super) sessions: Arc<dyn Sessions>,
    stopped: watch::Receiver<bool>,
    /// Dropped with the session.
    alive: Option<mpsc::Sender<()>>,
}

// === impl Upgrades ===

impl Upgrades {
    /// Of the configuration, only the times of a session and the number of sessions matter here.
    pub fn new(config: Arc<Config>, sessions: Arc<dyn Sessions>) -> Upgrades {
        let (stop, stopped) = watch::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let places = Arc::new(Semaphore::new(config.most_sessions));
        let context = Context { config, sessions, stopped, alive: Some(alive) };
        Upgrades { context, places, stop, ended: tokio::sync::Mutex::new(ended) }
    }

    /// The answer to a request; if it is yes, the session runs once the answer is out.
    pub fn answer<B>(&self, wanted: Request, mut request: http::Request<B>) -> Response<Full<Bytes>> {
        let (spdy, websocket) = match wanted {
            Request::PortForward(_) => (FORWARD_SPDY, FORWARD_WEBSOCKET),
            _ => (COMMAND_SPDY, COMMAND_WEBSOCKET),
        };
        let agreement = match judge(request.method(), request.headers(), spdy, websocket) {
            Ok(agreement) => agreement,
            Err(e) => {
                let mut response = text(e.status(), &e.to_string());
                response.headers_mut().extend(e.headers());
                return response;
            }
        };
        if let (Agreed::ForwardChannels(_), Request::PortForward(forward)) = (agreement.agreed, &wanted)
            && !(1..=MOST_PORTS).contains(&forward.ports.len())
        {
            let why = format!("channels are for 1 to {MOST_PORTS} ports, named beforehand");
            return text(StatusCode::BAD_REQUEST, &why);
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return text(StatusCode::TOO_MANY_REQUESTS, "too many sessions");
        };
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(session(self.context.clone(), wanted, agreement.agreed, upgrade, place));
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.headers_mut() = agreement.headers;
        response
    }

    /// Hangs up on everybody. False if some session has not ended in time.
    pub async fn stop(mut self, limit: Duration) -> bool {
        let _ = self.stop.send(true);
        self.context.alive = None;
        let mut ended = self.ended.lock().await;
        timeout(limit, async { while ended.recv().await.is_some() {} }).await.is_ok()
    }
}

impl std::fmt::Debug for Upgrades {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upgrades").finish_non_exhaustive()
    }
}

pub(crate) fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    *response.status_mut() = status;
    response
}

// === impl Context ===

impl Context {
    /// What a reader says while nobody takes what it has read.
    pub(super) fn pulse(&self) -> Pulse {
        Pulse::new(self.config.murmur)
    }

    /// Returns when nobody is there to serve any more: the client left, or said nothing for too long, or we stop.
    pub(super) fn gone(
        &self,
        mut over: watch::Receiver<bool>,
        clock: Arc<Clock>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (idle, mut stopped) = (self.config.idle, self.stopped.clone());
        async move {
            tokio::select! {
                _ = over.wait_for(|over| *over) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
                () = clock.idle(idle) => {}
            }
        }
    }
}

async fn session(
    context: Context,
    wanted: Request,
    agreed: Agreed,
    upgrade: OnUpgrade,
    place: OwnedSemaphorePermit,
) {
    // A client that leaves before the answer has only itself to blame.
    let Ok(io) = upgrade.await else { return };
    match wanted {
        Request::PortForward(request) => match agreed {
            Agreed::Forward => forward::serve(context, request, ends(io)).await,
            Agreed::Tunnel => {
                forward::serve(context, request, tunnel::ends(socket(io, Role::Server).await)).await
            }
            Agreed::ForwardChannels(codec) => forward_channels::serve(context, request, codec, io).await,
            Agreed::Command(_) | Agreed::Channels(..) => {}
        },
        Request::Exec(ref exec) => command(context, exec.streams, wanted, agreed, io).await,
        Request::Attach(ref attach) => command(context, attach.streams, wanted, agreed, io).await,
    }
    drop(place);
}

async fn command(context: Context, streams: Streams, wanted: Request, agreed: Agreed, io: Upgraded) {
    match agreed {
        Agreed::Command(version) => by_spdy::serve(context, wanted, streams, version, io).await,
        Agreed::Channels(version, codec) => {
            by_channels::serve(context, wanted, Manner { version, codec, streams }, io).await;
        }
        Agreed::Forward | Agreed::Tunnel | Agreed::ForwardChannels(_) => {}
    }
}

fn ends(io: Upgraded) -> Ends {
    let (read, write) = tokio::io::split(TokioIo::new(io));
    Ends { read: Box::new(read), write: Box::new(write) }
}
