//! The verbs of CRI. Each is a blocking function from a request to an answer; here is what they share.

mod containers;
mod cores;
mod exec;
mod ids;
mod images;
mod info;
mod pods;
mod stats;
mod table;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ::images::Access;
use ::images::platform::Host;
use plan::Style;
use runtime::Runtime;
use runtime::prepare::host_style;
use streaming::Tickets;
use tokio_stream::Stream;
use tonic::{Code, Request, Response, Status};

use crate::deadline::{self, Patience};
use crate::error::CriError;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::settings::{self, Settings};
use crate::wire::PodRules;
use cores::Cores;

/// Both services. Clones are the same.
#[derive(Debug, Clone)]
pub struct Cri {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) runtime: Runtime,
    settings: Settings,
    /// How registries are reached when a request says nothing of its own.
    access: Access,
    host: Host,
    /// The address of the host, which is that of its pods.
    address: String,
    style: Style,
    processors: u32,
    metrics: Metrics,
    events: Events,
    cores: Cores,
    tickets: OnceLock<Tickets>,
}

/// What a verb is told beside its request.
type Verb<R, T> = fn(&Inner, R, &Patience) -> Result<T, CriError>;
type Answers<T> = std::pin::Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

// === impl Cri ===

impl Cri {
    pub fn new(runtime: Runtime, settings: Settings, access: Access) -> std::io::Result<Cri> {
        let facts = &runtime.node().facts;
        let address = settings.node_ip.unwrap_or_else(settings::own_address).to_string();
        let inner = Inner {
            host: Host::here(&facts.os, &facts.architecture),
            style: host_style(),
            processors: std::thread::available_parallelism()
                .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
            metrics: Metrics::default(),
            events: Events::follow(&runtime, address.clone())?,
            cores: Cores::default(),
            tickets: OnceLock::new(),
            runtime,
            settings,
            access,
            address,
        };
        Ok(Cri { inner: Arc::new(inner) })
    }

    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    pub fn stream_address(&self) -> SocketAddr {
        self.inner.settings.stream_address
    }

    /// From now on exec, attach and port-forward have a server.
    pub fn stream_with(&self, tickets: Tickets) {
        // Told twice, the first stays.
        drop(self.inner.tickets.set(tickets));
    }

    /// Ends the streams of those who watch events.
    pub fn close_events(&self) {
        self.inner.events.close();
    }

    pub(crate) fn shared(&self) -> Arc<Inner> {
        self.inner.clone()
    }

    /// Runs a verb on a thread that may block, as long as its caller waits.
    async fn answer<R, T>(
        &self,
        verb: &'static str,
        request: Request<R>,
        act: Verb<R, T>,
    ) -> Result<Response<T>, Status>
    where
        R: Send + 'static,
        T: Send + 'static,
    {
        let began = Instant::now();
        let limit = deadline::of(request.metadata());
        let patience = Patience::default();
        let (inner, asked, waits) = (self.inner.clone(), request.into_inner(), patience.clone());
        let work = async move {
            let done = tokio::task::spawn_blocking(move || act(&inner, asked, &waits)).await;
            let broken = |_| Status::internal(format!("{verb} broke off: this is a defect of porthole"));
            done.map_err(broken)?.map_err(Status::from)
        };
        let done = if limit == Some(Duration::ZERO) {
            Err(Status::deadline_exceeded("the time was over before it began"))
        } else {
            deadline::within(limit, patience, work).await
        };
        let code = done.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.inner.metrics.call(verb, code, began.elapsed());
        done.map(Response::new)
    }

    /// The same, as a stream of one answer: what is listed here fits into it.
    async fn stream<R, T>(
        &self,
        verb: &'static str,
        request: Request<R>,
        act: Verb<R, T>,
    ) -> Result<Response<Answers<T>>, Status>
    where
        R: Send + 'static,
        T: Send + 'static,
    {
        let answer = self.answer(verb, request, act).await?.into_inner();
        Ok(Response::new(Box::pin(tokio_stream::once(Ok(answer)))))
    }
}

// === impl Inner ===

impl Inner {
    fn rules(&self) -> PodRules<'_> {
        PodRules {
            style: self.style,
            default_handler: &self.settings.default_handler,
            annotation_policy: self.settings.annotation_policy.as_ref(),
        }
    }
}
