//! The HTTP client for one host: its certificates, its headers, how long it may be silent.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Url};

use super::answer::PullError;
use super::identity::identity;
use crate::hosts::{Host, HostsError, is_local};

const USER_AGENT: &str = concat!("porthole/", env!("CARGO_PKG_VERSION"));
/// Unless `dial_timeout` says otherwise.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// The clients for one host. To know whom the system trusts, hundreds of files are read: only what is asked for by TLS
/// pays for that.
#[derive(Debug)]
pub(super) struct Clients {
    host: Host,
    name: String,
    silence: Duration,
    plain: Client,
    trusting: OnceLock<Client>,
}

// === impl Clients ===

impl Clients {
    pub(super) fn new(host: &Host, name: &str, silence: Duration) -> Result<Clients, PullError> {
        // It trusts nobody: should it ever be used for TLS, it fails.
        let plain = made(for_host(host, silence).tls_certs_only([]), name)?;
        let (host, name, trusting) = (host.clone(), name.to_owned(), OnceLock::new());
        let clients = Clients { host, name, silence, plain, trusting };
        // What is wrong with its certificates is told before it is asked.
        clients.to(&clients.host.base)?;
        Ok(clients)
    }

    /// The one for this address.
    pub(super) fn to(&self, url: &Url) -> Result<&Client, PullError> {
        match self.trusting.get() {
            _ if url.scheme() != "https" => Ok(&self.plain),
            Some(client) => Ok(client),
            None => {
                let client = trusting(&self.host, &self.name, self.silence)?;
                Ok(self.trusting.get_or_init(|| client))
            }
        }
    }
}

/// What all clients have in common.
pub(super) fn builder(silence: Duration) -> ClientBuilder {
    // Fails when another one is installed already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().user_agent(USER_AGENT).connect_timeout(LONGEST_CONNECT).read_timeout(silence)
}

/// Without redirects of its own: they would carry the headers of one host to another.
fn for_host(host: &Host, silence: Duration) -> ClientBuilder {
    let connect = host.dial_timeout.unwrap_or(LONGEST_CONNECT);
    let builder = builder(silence).connect_timeout(connect).redirect(Policy::none());
    if host.base.host_str().is_some_and(is_local) { builder.no_proxy() } else { builder }
}

fn trusting(host: &Host, name: &str, silence: Duration) -> Result<Client, PullError> {
    let mut builder = for_host(host, silence).tls_danger_accept_invalid_certs(host.skip_verify);
    for path in &host.ca {
        builder = builder.tls_certs_merge(authorities(path)?);
    }
    if let Some((certificate, key)) = &host.client {
        builder = builder.identity(identity(certificate, key.as_deref())?);
    }
    made(builder, name)
}

fn made(builder: ClientBuilder, name: &str) -> Result<Client, PullError> {
    builder.build().map_err(|e| PullError::Client { registry: name.to_owned(), source: Box::new(e) })
}

fn authorities(path: &Path) -> Result<Vec<Certificate>, HostsError> {
    let bad = |why: String| HostsError::Certificate { path: path.to_owned(), why };
    let found = Certificate::from_pem_bundle(&pem(path)?).map_err(|e| bad(e.to_string()))?;
    if found.is_empty() { Err(bad("there is none in it".to_owned())) } else { Ok(found) }
}

pub(super) fn pem(path: &Path) -> Result<Vec<u8>, HostsError> {
    std::fs::read(path).map_err(|source| HostsError::Read { path: path.to_owned(), source })
}

pub(super) fn headers(host: &Host) -> Result<HeaderMap, HostsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &host.headers {
        let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        // Not the value: it may be a secret.
        let (name, mut value) = parsed.ok_or_else(|| HostsError::Header { name: name.clone() })?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}
