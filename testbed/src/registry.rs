//! A real image registry on loopback that can be told to misbehave and remembers who asked for what.
//!
//! Behind it runs `distribution`, the registry that most others descend from; in front a proxy of ours injects the
//! faults, so that what is not made wrong on purpose is what clients meet in the world.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

pub use auth::{Auth, TOKEN_PATH};
pub use fault::{Fault, Wrong};
pub use log::Request;
pub use relay::Relay;
pub use tls::Front;

use crate::image::Image;
use crate::webhook::Ca;
use backend::Backend;
use proxy::{Proxy, Shared};

mod auth;
mod backend;
mod fault;
mod http;
mod log;
mod proxy;
mod relay;
mod tls;

/// How a registry is to be.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub auth: Auth,
}

/// A running registry. Dropping it ends it and removes what it stored.
///
/// ```no_run
/// use testbed::image::busybox;
/// use testbed::registry::{Fault, Options, Registry, Wrong};
///
/// let registry = Registry::start(Options::default())?;
/// registry.push(&busybox()?.build()?, "library/busybox:1.37")?;
/// registry.fault(Fault::new(Wrong::Cut { after: 1000 }).path("/v2/*/blobs/*").times(1));
/// // … something pulls `ADDRESS/library/busybox:1.37` from `registry.address()` …
/// assert!(registry.requests().iter().any(|request| request.bytes == 1000));
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Registry {
    // Before the backend: connections end before what answers them.
    proxy: Mutex<Option<Proxy>>,
    shared: Arc<Shared>,
    backend: Backend,
}

// === impl Registry ===

impl Registry {
    pub fn start(options: Options) -> Result<Self> {
        let backend = Backend::start()?;
        let listener = TcpListener::bind("127.0.0.1:0").context("listen on loopback")?;
        let address = listener.local_addr().context("address of the registry")?;
        let shared = Arc::new(Shared::new(backend.socket().to_owned(), address, options.auth));
        let proxy = Mutex::new(Some(Proxy::start(listener, Arc::clone(&shared))));
        Ok(Self { proxy, shared, backend })
    }

    /// Where clients reach it, over plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// Adds a rule; the first one that fits a request decides.
    pub fn fault(&self, fault: Fault) {
        self.shared.faults().push(fault);
    }

    pub fn clear_faults(&self) {
        self.shared.faults().clear();
    }

    /// Ends all connections and refuses new ones, as a registry does that is down, until [`Registry::accept`].
    pub fn refuse(&self) {
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        drop(proxy.take());
    }

    /// Takes connections again, at the same address.
    pub fn accept(&self) -> Result<()> {
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        if proxy.is_none() {
            let listener = TcpListener::bind(self.address());
            let listener = listener.with_context(|| format!("listen at {} again", self.address()))?;
            *proxy = Some(Proxy::start(listener, Arc::clone(&self.shared)));
        }
        Ok(())
    }

    /// What clients asked for so far. Pushes by [`Registry::push`] are not among it.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.requests()
    }

    pub fn clear_requests(&self) {
        self.shared.log.clear();
    }

    /// A second address for the same registry, with TLS and a certificate of this authority for 127.0.0.1.
    pub fn with_tls(&self, ca: &Ca) -> Result<Front> {
        Front::start(self.address(), &ca.issue(&["127.0.0.1", "localhost"])?)
    }

    /// A second address for the same registry, in another network: a machine's own loopback, for example.
    pub fn seen_in(&self, namespace: &Path, address: SocketAddr) -> Result<Relay> {
        Relay::start(self.address(), namespace, address)
    }

    /// Puts an image in as `repository:tag`.
    pub fn push(&self, image: &Image, reference: &str) -> Result<()> {
        let (repository, tag) =
            reference.rsplit_once(':').with_context(|| format!("{reference} has no tag"))?;
        self.backend.push(image, repository, tag)
    }
}
