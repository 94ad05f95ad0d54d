//! Where a registry is really asked: mirrors, plain HTTP, certificates, extra headers.
//!
//! Read from the `certs.d/<host>/hosts.toml` directories that users of containerd have already. What is found here
//! is only addresses and rules; [`crate::registry`] does the asking.

use std::net::IpAddr;
use std::path::PathBuf;

use reqwest::Url;

/// The places at which rules for registries are looked for. Without any, a registry is asked at its own address.
#[derive(Debug, Clone, Default)]
pub struct Hosts {}

/// One address at which a registry is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// Ends with a slash: `<repository>/manifests/…` follows.
    pub(crate) base: Url,
    pub(crate) abilities: Abilities,
    /// Whether `ns=` must say for which registry it stands in.
    pub(crate) stands_in: bool,
    pub(crate) ca: Vec<PathBuf>,
    pub(crate) skip_verify: bool,
    pub(crate) headers: Vec<(String, String)>,
}

/// What a host is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abilities {
    pub(crate) pull: bool,
    /// Whether it may say what a tag means.
    pub(crate) resolve: bool,
    pub(crate) push: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    #[error("{registry:?} is no address of a registry: {why}")]
    Address { registry: String, why: String },
    #[error("{name:?} with its value is no HTTP header")]
    Header { name: String },
    #[error("the certificates of an authority in {path}: {why}")]
    Ca { path: PathBuf, why: String },
}

/// The name under which everybody knows it, and the one that answers.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");

// === impl Hosts ===

impl Hosts {
    /// The addresses of a registry in the order in which they are to be asked: mirrors, and last itself.
    #[expect(clippy::unused_self, reason = "its files follow")]
    pub(crate) fn of(&self, registry: &str) -> Result<Vec<Host>, HostsError> {
        Ok(vec![Host::itself(registry)?])
    }
}

// === impl Host ===

impl Host {
    /// The registry at its own address: over TLS, unless it is on this host.
    fn itself(registry: &str) -> Result<Host, HostsError> {
        let at = if registry == DOCKER.0 { DOCKER.1 } else { registry };
        let scheme = if is_local(at) { "http" } else { "https" };
        let base = Url::parse(&format!("{scheme}://{at}/v2/"))
            .map_err(|e| HostsError::Address { registry: registry.to_owned(), why: e.to_string() })?;
        let abilities = Abilities { pull: true, resolve: true, push: true };
        Ok(Host {
            base,
            abilities,
            stands_in: false,
            ca: Vec::new(),
            skip_verify: false,
            headers: Vec::new(),
        })
    }
}

/// Whether a host, with or without a port, is this one: only there is plain HTTP good enough.
pub(crate) fn is_local(registry: &str) -> bool {
    let host = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => registry.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
