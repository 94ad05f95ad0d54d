//! What a registry answered, and whether it is worth asking again.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::RETRY_AFTER;
use rustls::AlertDescription;
use serde::Deserialize;

use super::backoff::retry_after;
use crate::blobs::ContentError;
use crate::hosts::HostsError;
use crate::keyring::KeyringError;

/// Why an image did not come.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error("{registry} wants a login (401): {}", advice(*tried))]
    Unauthorized {
        registry: String,
        /// How many credentials were.
        tried: usize,
    },
    #[error("{registry} refused it ({message}): it may be a private image, or one that does not exist")]
    Denied { registry: String, message: String },
    #[error("{registry} does not have it (404): check the name and the tag")]
    NotFound { registry: String },
    #[error("{registry} takes no more requests from here now (429){}: try again later", asked(*wait))]
    TooManyRequests { registry: String, wait: Option<Duration> },
    #[error("{registry} answered {code}{message}{}: ask those who run it, or try again later", asked(*wait))]
    Status { registry: String, code: u16, message: String, wait: Option<Duration> },
    #[error("{registry} refused the request ({code}): {message}")]
    Refused { registry: String, code: u16, message: String },
    #[error(
        "{registry} could not be asked: check its name and the network; it must speak HTTPS unless it is on this host"
    )]
    Network { registry: String, source: Box<reqwest::Error> },
    #[error(
        "the certificate of {registry} is not one that this host trusts: name the authority's file as `ca` in \
         certs.d/{registry}/hosts.toml, or add it to the host's"
    )]
    Untrusted { registry: String, source: Box<reqwest::Error> },
    #[error(
        "{registry} wants to see a certificate of its clients and was shown none that it takes: name one, with its key, \
         as `client` in certs.d/{registry}/hosts.toml"
    )]
    Uncertified { registry: String, source: Box<reqwest::Error> },
    #[error("the connection to {registry} broke in the middle of {digest}")]
    Cut { registry: String, digest: String, source: Box<dyn Error + Send + Sync> },
    #[error("{registry} gave an answer that is none of a registry's: {why}")]
    Strange { registry: String, why: String },
    #[error("{registry} has {found} bytes of {digest}, of which the manifest says {wanted}")]
    WrongSize { registry: String, digest: String, wanted: u64, found: u64 },
    #[error("{digest} goes on after the {longest} bytes its manifest says")]
    TooLong { digest: String, longest: u64 },
    #[error("the manifest does not say how large {0} is")]
    NoSize(String),
    #[error("{digest} is to be had at {url:?}: wanted an address that starts with https:// or http://")]
    ForeignUrl { digest: String, url: String },
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Keyring(Arc<KeyringError>),
    #[error(transparent)]
    Hosts(#[from] HostsError),
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error("the client for {registry} cannot be made: are this host's root certificates installed?")]
    Client { registry: String, source: Box<reqwest::Error> },
    #[error("the runtime for the network cannot be made")]
    Runtime(#[source] io::Error),
    #[error("interrupted")]
    GaveUp,
}

/// What registries say in the body of a refusal.
#[derive(Debug, Default, Deserialize)]
struct Envelope {
    #[serde(default)]
    errors: Vec<Reason>,
}

#[derive(Debug, Deserialize)]
struct Reason {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// As much of a refusal as is read.
const LONGEST_REFUSAL: usize = 64 << 10;

// === impl PullError ===

impl PullError {
    /// A request that got no answer. The address stays out: it may be a signed one.
    pub(super) fn unanswered(registry: &str, error: reqwest::Error) -> PullError {
        let (registry, source) = (registry.to_owned(), Box::new(error.without_url()));
        match tls(&*source) {
            Some(rustls::Error::InvalidCertificate(_)) => PullError::Untrusted { registry, source },
            Some(rustls::Error::AlertReceived(alert)) if is_about_ours(*alert) => {
                PullError::Uncertified { registry, source }
            }
            _ => PullError::Network { registry, source },
        }
    }

    /// An answer that broke off at this place. The network's own word for a silence does not say how long it was.
    pub(super) fn cut(
        registry: &str,
        digest: &str,
        place: &str,
        silence: Duration,
        error: reqwest::Error,
    ) -> PullError {
        let source: Box<dyn Error + Send + Sync> = if error.is_timeout() {
            format!("nothing came for {silence:?} after {place}").into()
        } else {
            Box::new(error.without_url())
        };
        PullError::Cut { registry: registry.to_owned(), digest: digest.to_owned(), source }
    }

    /// Whether no request came as far as an answer.
    pub(super) fn is_unreachable(&self) -> bool {
        use PullError::{Network, Uncertified, Untrusted};
        matches!(self, Network { .. } | Untrusted { .. } | Uncertified { .. })
    }

    /// An answer that is not the one hoped for.
    pub(super) async fn refusal(registry: &str, mut response: Response) -> PullError {
        let code = response.status().as_u16();
        let header = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
        let wait = header.and_then(|value| retry_after(value, SystemTime::now()));
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_REFUSAL {
                break;
            }
        }
        PullError::of(registry, code, &body, wait)
    }

    pub(super) fn of(registry: &str, code: u16, body: &[u8], wait: Option<Duration>) -> PullError {
        let registry = registry.to_owned();
        let envelope: Envelope = serde_json::from_slice(body).unwrap_or_default();
        let (reason, message) = match envelope.errors.into_iter().next() {
            Some(reason) => (reason.code, short(&reason.message)),
            None => (String::new(), short(&String::from_utf8_lossy(body))),
        };
        match (code, reason.as_str()) {
            (401, _) => PullError::Unauthorized { registry, tried: 0 },
            (403, _) | (_, "DENIED") => {
                PullError::Denied { registry, message: format!("{code} {message}").trim_end().to_owned() }
            }
            (404, _) => PullError::NotFound { registry },
            (429, _) | (_, "TOOMANYREQUESTS") => PullError::TooManyRequests { registry, wait },
            (400..500, _) => PullError::Refused { registry, code, message },
            _ => {
                let message = if message.is_empty() { message } else { format!(" ({message})") };
                PullError::Status { registry, code, message, wait }
            }
        }
    }

    /// What a [`super::BlobStream`] ended with.
    pub fn from_io(error: io::Error) -> PullError {
        match error.downcast() {
            Ok(ours) => ours,
            Err(other) => PullError::Runtime(other),
        }
    }

    /// Whether the same question may get another answer soon.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            PullError::Network { .. } | PullError::Cut { .. } | PullError::TooManyRequests { .. } => true,
            // Of the others only an address that a registry signed for a while, and signs anew.
            PullError::Status { code, .. } => *code >= 500 || matches!(code, 401 | 403),
            PullError::Refused { code, .. } => matches!(code, 408 | 425),
            _ => false,
        }
    }

    /// How long the registry asks us to stay away.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self {
            PullError::TooManyRequests { wait, .. } | PullError::Status { wait, .. } => *wait,
            _ => None,
        }
    }

    /// The error and its deepest cause, which is what the network said.
    pub(crate) fn line(&self) -> String {
        let mut deepest: &dyn Error = self;
        while let Some(cause) = deepest.source() {
            deepest = cause;
        }
        let (text, cause) = (self.to_string(), deepest.to_string());
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    }
}

fn advice(tried: usize) -> &'static str {
    match tried {
        0 => {
            "it may be a private image, or one that does not exist; no credentials for it are known here, \
             wanted an entry in docker's config.json or a pull secret"
        }
        _ => {
            "all credentials for it that are known here were refused; `docker login` or a new pull secret may help"
        }
    }
}

fn asked(wait: Option<Duration>) -> String {
    wait.map_or_else(String::new, |wait| format!(" and asks to wait {} s", wait.as_secs()))
}

/// Rustls' errors come wrapped in I/O errors, whose source is not what they hold but what that holds in turn.
fn tls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    let held = || error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let inside = || held().and_then(|held| tls(held)).or_else(|| error.source().and_then(tls));
    error.downcast_ref().or_else(inside)
}

/// What servers say of a client's certificate. Some say only that a signature is wrong, if two authorities have one name.
fn is_about_ours(alert: AlertDescription) -> bool {
    use AlertDescription as Said;
    matches!(
        alert,
        Said::CertificateRequired
            | Said::BadCertificate
            | Said::UnsupportedCertificate
            | Said::CertificateRevoked
            | Said::CertificateExpired
            | Said::CertificateUnknown
            | Said::UnknownCA
            | Said::AccessDenied
            | Said::DecryptError
    )
}

/// Foreign text for one line of ours.
fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(LONGEST).map(printable).collect()
}

#[cfg(test)]
mod tests;
