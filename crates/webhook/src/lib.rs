//! The pod rules and the HostProcess policy as a validating admission webhook (KA-11, HP-05).
//!
//! | module | what it knows |
//! |---|---|
//! | [`review`] | the wire format |
//! | [`judge`] | what is allowed; pure |
//! | `http`, `server` | routes, bounds, draining |
//! | [`tls`], `follow` | certificate and policy that change while we run |
//! | `identity`, [`cluster`] | a certificate of our own, and who must know of it |
//!
//! It fails closed: whatever is not an answer (a timeout, a bad body, a crash) is a refusal to the API server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rules::ApiOptions;
use rules::policy::{Policy, PolicyError};

pub mod cluster;
mod follow;
mod http;
mod identity;
pub mod judge;
mod metrics;
mod refresh;
pub mod review;
mod server;
mod state;
pub mod tls;

pub use cluster::{ClusterError, SelfSigned};
pub use identity::IdentityError;
pub use state::Say;

use judge::Judge;
use server::Server;
use state::State;
use tls::{Pair, PairError};

/// How the webhook is to be.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Port 0: the system chooses, see [`Webhook::address`].
    pub listen: SocketAddr,
    pub policy: PathBuf,
    pub certificate: Certificate,
    pub options: ApiOptions,
}

/// Where the serving certificate comes from.
#[derive(Debug, Clone)]
pub enum Certificate {
    Files { certificate: PathBuf, key: PathBuf },
    SelfSigned(SelfSigned),
}

/// Why the webhook does not start.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("{0}")]
    Unreadable(String),
    #[error("policy {}", path.display())]
    Policy { path: PathBuf, source: PolicyError },
    #[error("policy {} is not UTF-8 text", path.display())]
    PolicyText { path: PathBuf },
    #[error("certificate {} with key {}", certificate.display(), key.display())]
    Pair { certificate: PathBuf, key: PathBuf, source: Box<PairError> },
    #[error("set up TLS")]
    Tls(#[source] rustls::Error),
    #[error("listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// Ready to serve: everything was read, and the port is ours.
#[derive(Debug)]
pub struct Webhook {
    address: SocketAddr,
    server: Server,
    state: Arc<State>,
    refresh: Vec<refresh::Refresh>,
}

// === impl Webhook ===

impl Webhook {
    /// Reads policy and certificate and binds the port. Nothing is served yet.
    pub async fn prepare(settings: Settings, say: Say) -> Result<Self, WebhookError> {
        let (judge, policy) = refresh::policy(&settings)?;
        let (pair, certificate) = refresh::certificate(&settings.certificate).await?;
        let state = Arc::new(State::new(judge, pair, say));
        let wrong = |source| WebhookError::Listen { address: settings.listen, source };
        let listener = server::bind(settings.listen).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let tls = tls::config(Arc::clone(&state.serving)).map_err(WebhookError::Tls)?;
        let server = Server::new(listener, tls, http::routes(Arc::clone(&state)), Arc::clone(&state));
        Ok(Self { address, server, state, refresh: vec![policy, certificate] })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, then lets open requests end. False if some did not within ten seconds.
    pub async fn run(self, stop: impl Future<Output = ()>) -> bool {
        let refresh = self.refresh.into_iter().map(|one| tokio::spawn(one.run(Arc::clone(&self.state))));
        let refresh: Vec<_> = refresh.collect();
        let drained = self.server.run(stop).await;
        refresh.iter().for_each(tokio::task::JoinHandle::abort);
        drained
    }
}

// === impl WebhookError ===

impl WebhookError {
    /// Whether the user can mend it in what they gave us, rather than in what is around us.
    pub fn is_usage(&self) -> bool {
        use WebhookError::{Pair, Policy, PolicyText, Unreadable};
        matches!(self, Unreadable(_) | Policy { .. } | PolicyText { .. } | Pair { .. })
    }
}

fn judge(path: &std::path::Path, contents: &[Vec<u8>], options: &ApiOptions) -> Result<Judge, WebhookError> {
    let path = || path.to_owned();
    let bytes = contents.first().map(Vec::as_slice).unwrap_or_default();
    let text = std::str::from_utf8(bytes).map_err(|_| WebhookError::PolicyText { path: path() })?;
    let policy = Policy::parse(text).map_err(|source| WebhookError::Policy { path: path(), source })?;
    Ok(Judge { policy, options: *options })
}

fn pair(
    certificate: &std::path::Path,
    key: &std::path::Path,
    contents: &[Vec<u8>],
) -> Result<Pair, WebhookError> {
    let wrong = |source: PairError| {
        let (certificate, key) = (certificate.into(), key.into());
        WebhookError::Pair { certificate, key, source: Box::new(source) }
    };
    let [cert_pem, key_pem] = contents else { return Err(wrong(PairError::NoCertificate)) };
    Pair::from_pem(cert_pem, key_pem).map_err(wrong)
}
