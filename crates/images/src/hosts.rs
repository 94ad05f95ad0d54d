//! Where a registry is really asked: mirrors, plain HTTP, certificates, extra headers.
//!
//! Read from the `certs.d/<host>/hosts.toml` directories that users of containerd have already. What is found here
//! is only addresses and rules; [`crate::registry`] does the asking.

mod docker;
mod duration;
mod file;

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;

/// The places at which rules for registries are looked for. Without any, a registry is asked at its own address.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    dirs: Vec<PathBuf>,
    silence: Option<Duration>,
}

/// One address at which a registry is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    /// Ends with a slash: `<repository>/manifests/…` follows.
    pub(crate) base: Url,
    pub(crate) abilities: Abilities,
    /// Whether it is another than the registry itself; then `ns=` says for which one it stands in.
    pub(crate) stands_in: bool,
    pub(crate) ca: Vec<PathBuf>,
    /// A certificate of ours with its key, which may be in the same file.
    pub(crate) client: Option<(PathBuf, Option<PathBuf>)>,
    pub(crate) skip_verify: bool,
    pub(crate) headers: Vec<(String, String)>,
    /// How long a connection may take to come about, if not as long as usual.
    pub(crate) dial_timeout: Option<Duration>,
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
    #[error("{path}: {host:?} is no address of a registry: {why}")]
    Elsewhere { path: PathBuf, host: String, why: String },
    #[error("{name:?} with its value is no HTTP header")]
    Header { name: String },
    #[error("the certificates in {path}: {why}")]
    Certificate { path: PathBuf, why: String },
    #[error("read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not the TOML it should be: {why}")]
    Toml { path: PathBuf, why: String },
    #[error("{path}: {what} of {host}: wanted {wanted}")]
    Setting { path: PathBuf, host: String, what: &'static str, wanted: &'static str },
}

const EVERYTHING: Abilities = Abilities { pull: true, resolve: true, push: true };
/// The name under which everybody knows it, and the one that answers.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");
/// The directory for registries that have none of their own.
const DEFAULT: &str = "_default";

// === impl Hosts ===

impl Hosts {
    /// Adds a directory like `/etc/containerd/certs.d`. The first that knows a registry decides.
    #[must_use]
    pub fn with_dir(mut self, dir: &Path) -> Hosts {
        self.dirs.push(dir.to_owned());
        self
    }

    /// How long a registry may say nothing in the middle of an answer, instead of as long as usual.
    #[must_use]
    pub fn with_silence(mut self, silence: Duration) -> Hosts {
        self.silence = Some(silence);
        self
    }

    pub(crate) fn silence(&self) -> Option<Duration> {
        self.silence
    }

    /// The addresses of a registry in the order in which they are to be asked: mirrors, and last itself.
    pub(crate) fn of(&self, registry: &str) -> Result<Vec<Host>, HostsError> {
        let candidates = self.dirs.iter().flat_map(|dir| names(registry).map(|name| dir.join(name)));
        match candidates.into_iter().find(|dir| dir.is_dir()) {
            Some(dir) => file::read(&dir, registry),
            None => Ok(vec![Host::itself(registry)?]),
        }
    }
}

/// Whether a text would do as the `hosts.toml` of a registry.
pub fn check(text: &str, registry: &str) -> Result<(), HostsError> {
    file::parse(text, Path::new("hosts.toml"), registry).map(drop)
}

/// A colon is no part of a file's name on Windows: there, and everywhere first, `host_5000_`.
fn names(registry: &str) -> impl Iterator<Item = String> {
    let port = registry.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let plain = port.map(|(host, port)| format!("{host}_{port}_"));
    plain.into_iter().chain([registry.to_owned(), DEFAULT.to_owned()])
}

// === impl Host ===

impl Host {
    /// The registry at its own address: over TLS, unless it is on this host.
    fn itself(registry: &str) -> Result<Host, HostsError> {
        let at = if registry == DOCKER.0 { DOCKER.1 } else { registry };
        let scheme = if is_local(at) { "http" } else { "https" };
        Host::at(&format!("{scheme}://{at}"), registry, false)
            .map_err(|why| HostsError::Address { registry: registry.to_owned(), why })
    }

    /// A host by its address, or what is wrong with that; `/v2` is added to it unless that is not wanted.
    fn at(address: &str, registry: &str, exactly: bool) -> Result<Host, String> {
        let scheme = if is_local(address) { "http" } else { "https" };
        let whole =
            if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") };
        let mut base = Url::parse(&whole).map_err(|e| e.to_string())?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err("wanted http:// or https:// and a host".to_owned());
        }
        let path = base.path().trim_end_matches('/');
        let path = if exactly || path.ends_with("/v2") { format!("{path}/") } else { format!("{path}/v2/") };
        base.set_path(&path);
        let stands_in = !is_itself(&base, registry);
        let (ca, client, headers) = (Vec::new(), None, Vec::new());
        let (abilities, skip_verify, dial_timeout) = (EVERYTHING, false, None);
        Ok(Host { base, abilities, stands_in, ca, client, skip_verify, headers, dial_timeout })
    }
}

fn is_itself(base: &Url, registry: &str) -> bool {
    let at = if registry == DOCKER.0 { DOCKER.1 } else { registry };
    let [plain, sealed] = ["http", "https"].map(|scheme| Url::parse(&format!("{scheme}://{at}")).ok());
    let same = |url: Option<Url>| {
        url.is_some_and(|url| (url.host_str(), url.port()) == (base.host_str(), base.port()))
    };
    same(plain) || same(sealed)
}

/// Whether a host, with or without a port, is this one: only there is plain HTTP good enough.
pub(crate) fn is_local(registry: &str) -> bool {
    let host = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => registry.split([':', '/']).next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;
