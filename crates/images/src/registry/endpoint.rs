//! One address of a registry: sends requests there, with the login and the headers that belong to it and to no other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};

use super::answer::PullError;
use super::challenge::Challenge;
use super::client::{Clients, headers};
use super::login::{Login, Pass, authority};
use crate::hosts::{Abilities, Host, is_local};
use crate::keyring::Candidate;

const MOST_REDIRECTS: usize = 10;

#[derive(Debug)]
pub(crate) struct Endpoint {
    /// As errors call it.
    pub(crate) name: String,
    /// Its place in the order of a registry's.
    pub(super) number: usize,
    pub(super) abilities: Abilities,
    /// A mirror that cannot be reached is asked last for the rest of a pull: each try costs a timeout.
    down: AtomicBool,
    base: Url,
    /// The registry for which this one stands in.
    namespace: Option<String>,
    headers: HeaderMap,
    clients: Clients,
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

/// What an answer means for the request.
enum Verdict {
    Good(Response),
    /// Another try with another login; the error if that does not help.
    Again(Option<PullError>),
    Bad(PullError),
}

// === impl Endpoint ===

impl Endpoint {
    pub(super) fn new(
        number: usize,
        host: &Host,
        registry: &str,
        candidates: Vec<Candidate>,
        scopes: Vec<String>,
        silence: Duration,
    ) -> Result<Endpoint, PullError> {
        let name = if host.stands_in { authority(&host.base) } else { registry.to_owned() };
        let plain = host.base.scheme() == "http";
        Ok(Endpoint {
            number,
            abilities: host.abilities,
            down: AtomicBool::new(false),
            base: host.base.clone(),
            namespace: host.stands_in.then(|| registry.to_owned()),
            headers: headers(host)?,
            clients: Clients::new(host, &name, silence)?,
            login: Login::new(&name, candidates, scopes, plain),
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
            let unreachable = reply.as_ref().is_err_and(PullError::is_unreachable);
            self.down.store(unreachable, Ordering::Relaxed);
            match self.judge(ask, reply?, &pass).await {
                Verdict::Good(response) => return Ok(response),
                Verdict::Again(error) => refused = refused.or(error),
                Verdict::Bad(error) => return Err(refused.unwrap_or(error)),
            }
        }
        let tried = self.login.rounds();
        Err(refused.unwrap_or_else(|| PullError::Unauthorized { registry: self.name.clone(), tried }))
    }

    /// Whether an answer is one, or the login is to blame and there is another.
    async fn judge(&self, ask: &Ask, reply: Reply, pass: &Pass) -> Verdict {
        let Reply { response, redirected } = reply;
        match response.status() {
            status if status.is_success() => {
                self.login.worked(pass).await;
                Verdict::Good(response)
            }
            _ if redirected => Verdict::Bad(elsewhere(response).await),
            StatusCode::UNAUTHORIZED => match self.renew(&response, pass).await {
                Ok(()) => Verdict::Again(None),
                Err(error) => Verdict::Bad(error),
            },
            status => {
                // A push asks first whether a part is there: that it is not yet does not depend on who asks.
                let hidden = status == StatusCode::NOT_FOUND && ask.method != Method::HEAD;
                let unlet = status == StatusCode::FORBIDDEN || hidden;
                let error = PullError::refusal(&self.name, response).await;
                let again = unlet && self.login.pass_over(pass).await;
                if again { Verdict::Again(Some(error)) } else { Verdict::Bad(self.login.explained(error)) }
            }
        }
    }

    async fn renew(&self, refusal: &Response, pass: &Pass) -> Result<(), PullError> {
        let challenge = Challenge::of(refusal.headers()).map_err(|why| self.strange(why))?;
        // Where tokens are given may want TLS though the registry does not.
        let client = match &challenge {
            Challenge::Bearer { realm, .. } => self.clients.to(realm)?,
            Challenge::Basic => self.clients.to(&self.base)?,
        };
        self.login.renew(pass, &challenge, client).await
    }

    /// A request that goes where it is sent on to, without what is only for this registry.
    async fn exchange(&self, ask: &Ask, pass: Option<&HeaderValue>) -> Result<Reply, PullError> {
        let mut url = self.url(&ask.to)?;
        let follows = matches!(ask.method, Method::GET | Method::HEAD);
        // Where an upload goes on may be another host from the start.
        let mut redirected = url.origin() != self.base.origin();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.clients.to(&url)?.request(ask.method.clone(), url.clone());
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
