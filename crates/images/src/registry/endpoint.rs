//! One address of a registry: sends requests there, with the login and the headers that belong to it and to no other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Identity, Method, Response, StatusCode, Url};

use super::answer::PullError;
use super::challenge::Challenge;
use super::login::{Login, authority};
use crate::hosts::{Abilities, Host, HostsError, is_local};
use crate::keyring::Credential;

pub(super) const USER_AGENT: &str = concat!("porthole/", env!("CARGO_PKG_VERSION"));
pub(super) const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// How long a registry may say nothing in the middle of an answer.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 10;

#[derive(Debug)]
pub(crate) struct Endpoint {
    /// As errors call it.
    pub(crate) name: String,
    pub(super) abilities: Abilities,
    /// A mirror that cannot be reached is asked last for the rest of a pull: each try costs a timeout.
    down: AtomicBool,
    base: Url,
    /// The registry for which this one stands in.
    namespace: Option<String>,
    headers: HeaderMap,
    client: Client,
    login: Login,
}

/// A request that can be sent more than once.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) to: Target,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// Below the registry's `/v2/`.
    Path(String),
    /// Where the registry said.
    Url(Url),
}

/// An answer, and whether another host gave it.
struct Reply {
    response: Response,
    redirected: bool,
}

// === impl Endpoint ===

impl Endpoint {
    pub(super) fn new(
        host: &Host,
        registry: &str,
        credentials: Vec<Credential>,
        scopes: Vec<String>,
    ) -> Result<Endpoint, PullError> {
        let name = if host.stands_in { authority(&host.base) } else { registry.to_owned() };
        let plain = host.base.scheme() == "http";
        Ok(Endpoint {
            abilities: host.abilities,
            down: AtomicBool::new(false),
            base: host.base.clone(),
            namespace: host.stands_in.then(|| registry.to_owned()),
            headers: headers(host)?,
            client: client(host, &name)?,
            login: Login::new(&name, credentials, scopes, plain),
            name,
        })
    }

    pub(super) fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }

    /// Sends a request and logs in where that is wanted. Any answer of success is one.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Response, PullError> {
        let mut refused = None;
        for _ in 0..self.login.rounds() {
            let pass = self.login.pass().await;
            let reply = self.exchange(ask, pass.header.as_ref()).await;
            let unreachable = matches!(reply, Err(PullError::Network { .. } | PullError::Untrusted { .. }));
            self.down.store(unreachable, Ordering::Relaxed);
            let Reply { response, redirected } = reply?;
            let status = response.status();
            if status.is_success() {
                self.login.worked(&pass).await;
                return Ok(response);
            }
            if redirected {
                return Err(elsewhere(response).await);
            }
            if status == StatusCode::UNAUTHORIZED {
                let why = |why| PullError::Strange { registry: self.name.clone(), why };
                let challenge = Challenge::of(response.headers()).map_err(why)?;
                self.login
                    .renew(&pass, &challenge, &self.client)
                    .await
                    .map_err(|e| refused.take().unwrap_or(e))?;
                continue;
            }
            let error = PullError::refusal(&self.name, response).await;
            let unlet = matches!(status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND);
            if !unlet || !self.login.pass_over(&pass).await {
                return Err(refused.unwrap_or(error));
            }
            refused.get_or_insert(error);
        }
        Err(refused
            .unwrap_or(PullError::Unauthorized { registry: self.name.clone(), tried: self.login.rounds() }))
    }

    /// A request that goes where it is sent on to, without what is only for this registry.
    async fn exchange(&self, ask: &Ask, pass: Option<&HeaderValue>) -> Result<Reply, PullError> {
        let mut url = self.url(&ask.to)?;
        let follows = matches!(ask.method, Method::GET | Method::HEAD);
        let mut redirected = false;
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.client.request(ask.method.clone(), url.clone());
            if url.origin() == self.base.origin() {
                request = request.headers(self.headers.clone());
                request = pass.into_iter().fold(request, |request, pass| request.header(AUTHORIZATION, pass));
            }
            for (name, value) in &ask.headers {
                request = request.header(name, value);
            }
            request = ask.body.iter().fold(request, |request, body| request.body(body.clone()));
            let response =
                request.send().await.map_err(|e| PullError::unanswered(&authority_of(self, &url), e))?;
            let Some(next) = redirect(&response).filter(|_| follows) else {
                return Ok(Reply { response, redirected });
            };
            url = self.next(&url, next)?;
            redirected |= url.origin() != self.base.origin();
        }
        Err(self.strange(format!("it sends on more than {MOST_REDIRECTS} times")))
    }

    fn next(&self, from: &Url, to: &str) -> Result<Url, PullError> {
        let url = from.join(to).map_err(|e| self.strange(format!("it sends on to {to:?}: {e}")))?;
        let local = url.host_str().is_some_and(is_local);
        match url.scheme() {
            "https" => Ok(url),
            "http" if local || from.scheme() == "http" => Ok(url),
            other => Err(self.strange(format!("it sends on to {} by {other}, without TLS", authority(&url)))),
        }
    }

    /// Where an answer says that an upload goes on.
    pub(crate) fn location(&self, response: &Response) -> Result<Url, PullError> {
        let place = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let place = place.ok_or_else(|| self.strange("it does not say where an upload goes".to_owned()))?;
        self.next(response.url(), place)
    }

    fn url(&self, target: &Target) -> Result<Url, PullError> {
        let path = match target {
            Target::Url(url) => return Ok(url.clone()),
            Target::Path(path) => path,
        };
        let mut url = self.base.join(path).map_err(|e| self.strange(format!("no address {path:?}: {e}")))?;
        if let Some(namespace) = &self.namespace {
            url.query_pairs_mut().append_pair("ns", namespace);
        }
        Ok(url)
    }

    pub(crate) fn strange(&self, why: String) -> PullError {
        PullError::Strange { registry: self.name.clone(), why }
    }
}

// === impl Ask ===

impl Ask {
    pub(crate) fn get(path: String) -> Ask {
        Ask::new(Method::GET, path)
    }

    pub(crate) fn new(method: Method, path: String) -> Ask {
        Ask { method, to: Target::Path(path), headers: Vec::new(), body: None }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Ask {
        // What we say ourselves is always a header.
        self.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }
}

/// What another host says about a request that needs no login: its word of login is none of ours.
async fn elsewhere(response: Response) -> PullError {
    let host = authority(response.url());
    match PullError::refusal(&host, response).await {
        PullError::Unauthorized { registry, .. } => {
            PullError::Status { registry, code: 401, message: String::new(), wait: None }
        }
        PullError::Denied { registry, message } => {
            PullError::Status { registry, code: 403, message: format!(" ({message})"), wait: None }
        }
        other => other,
    }
}

fn authority_of(endpoint: &Endpoint, url: &Url) -> String {
    if url.origin() == endpoint.base.origin() { endpoint.name.clone() } else { authority(url) }
}

fn redirect(response: &Response) -> Option<&str> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    response.headers().get(LOCATION).filter(|_| redirects)?.to_str().ok()
}

fn headers(host: &Host) -> Result<HeaderMap, HostsError> {
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

/// Without redirects of its own: they would carry the headers of one host to another.
pub(super) fn client(host: &Host, name: &str) -> Result<Client, PullError> {
    // Fails when another one is installed already, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(LONGEST_CONNECT)
        .read_timeout(LONGEST_SILENCE)
        .tls_danger_accept_invalid_certs(host.skip_verify)
        .redirect(Policy::none());
    if host.base.host_str().is_some_and(is_local) {
        builder = builder.no_proxy();
    }
    for path in &host.ca {
        let bad = |why: String| HostsError::Certificate { path: path.clone(), why };
        let found = Certificate::from_pem_bundle(&pem(path)?).map_err(|e| bad(e.to_string()))?;
        if found.is_empty() {
            return Err(bad("there is none in it".to_owned()).into());
        }
        builder = builder.tls_certs_merge(found);
    }
    if let Some((certificate, key)) = &host.client {
        let mut text = pem(certificate)?;
        text.extend(key.as_ref().map(|key| pem(key)).transpose()?.unwrap_or_default());
        let bad =
            |e: reqwest::Error| HostsError::Certificate { path: certificate.clone(), why: e.to_string() };
        builder = builder.identity(Identity::from_pem(&text).map_err(bad)?);
    }
    builder.build().map_err(|e| PullError::Client { registry: name.to_owned(), source: Box::new(e) })
}

fn pem(path: &Path) -> Result<Vec<u8>, HostsError> {
    std::fs::read(path).map_err(|source| HostsError::Read { path: path.to_owned(), source })
}
