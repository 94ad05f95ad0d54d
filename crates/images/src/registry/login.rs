//! The login at one address of a registry: which credential is in use, and the token it got.
//!
//! Nothing is sent before the registry asks for it (401), and no program is run that may know a credential. A credential
//! that never worked makes way for the next one; one that did has a token that ran out, and gets another. Many threads
//! use one login: only one of them renews it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use tokio::sync::Mutex;

use super::answer::PullError;
use super::challenge::{Challenge, Given, may_carry_secrets, scopes};
use crate::keyring::{Candidate, Credential};

#[derive(Debug)]
pub(super) struct Login {
    registry: String,
    candidates: Vec<Candidate>,
    scopes: Vec<String>,
    /// Whether the registry itself is spoken to without TLS.
    plain: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Which one is in use; after the last comes nobody's name.
    candidate: usize,
    header: Option<HeaderValue>,
    /// Whether the registry ever took this header, or there is no better one.
    worked: bool,
    /// Grows with every change, so that who was refused with an old header does not renew the new one.
    generation: u64,
    /// The first that the registry knew and did not let in.
    passed_over: Option<(usize, HeaderValue)>,
}

/// What goes with a request.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    pub(super) header: Option<HeaderValue>,
    generation: u64,
}

const CLIENT_ID: &str = "porthole";
const FORM: &str = "application/x-www-form-urlencoded";
/// A token is some kilobytes at most.
const LONGEST_TOKEN: usize = 1 << 20;

// === impl Login ===

impl Login {
    pub(super) fn new(registry: &str, candidates: Vec<Candidate>, scopes: Vec<String>, plain: bool) -> Login {
        Login { registry: registry.to_owned(), candidates, scopes, plain, state: Mutex::default() }
    }

    /// How often one request may be refused before it is refused for good.
    pub(super) fn rounds(&self) -> usize {
        self.candidates.len() + 3
    }

    pub(super) async fn pass(&self) -> Pass {
        let state = self.state.lock().await;
        Pass { header: state.header.clone(), generation: state.generation }
    }

    pub(super) async fn worked(&self, pass: &Pass) {
        let mut state = self.state.lock().await;
        state.worked |= state.generation == pass.generation && pass.header.is_some();
    }

    /// Whether there is another credential after one that the registry knew and did not let in.
    pub(super) async fn pass_over(&self, pass: &Pass) -> bool {
        let mut state = self.state.lock().await;
        if state.generation != pass.generation {
            return true;
        }
        let more = state.candidate + 1 < self.candidates.len();
        let Some(header) = pass.header.clone().filter(|_| more && !state.worked) else { return false };
        let (candidate, generation) = (state.candidate + 1, state.generation + 1);
        let first = state.passed_over.take();
        let passed_over = first.or(Some((state.candidate, header)));
        *state = State { candidate, generation, passed_over, ..State::default() };
        true
    }

    /// A new header after a 401, or the error that there is none.
    pub(super) async fn renew(
        &self,
        pass: &Pass,
        challenge: &Challenge,
        client: &Client,
    ) -> Result<(), PullError> {
        let mut state = self.state.lock().await;
        if state.generation != pass.generation {
            return Ok(());
        }
        let next = state.candidate + usize::from(state.header.is_some() && !state.worked);
        for candidate in next..=self.candidates.len() {
            if let Some(mut header) = self.header(candidate, challenge, client).await? {
                header.set_sensitive(true);
                let (generation, passed_over) = (state.generation + 1, state.passed_over.take());
                *state = State { candidate, header: Some(header), worked: false, generation, passed_over };
                return Ok(());
            }
        }
        state.run_out(self.candidates.len() + 1);
        let refused = || PullError::Unauthorized { registry: self.registry.clone(), tried: self.tried() };
        Err(self.failure().unwrap_or_else(refused))
    }

    /// What the registry is shown for a candidate. None if there is no credential, or it is not taken.
    async fn header(
        &self,
        candidate: usize,
        challenge: &Challenge,
        client: &Client,
    ) -> Result<Option<HeaderValue>, PullError> {
        let Some(candidate) = self.candidates.get(candidate) else {
            // Many registries give tokens to anybody. Whoever has an account does not go on without it.
            return if self.tried() == 0 { self.answer(challenge, None, client).await } else { Ok(None) };
        };
        match candidate.credential().await {
            Some(credential) => self.answer(challenge, Some(credential), client).await,
            None => Ok(None),
        }
    }

    /// How many credentials there were.
    fn tried(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.is_known()).count()
    }

    /// Why a program gave no credential: that is told when nothing else opened the registry.
    fn failure(&self) -> Option<PullError> {
        self.candidates.iter().find_map(Candidate::failure).map(PullError::Keyring)
    }

    /// Who was denied under nobody's name is told why there was no other.
    pub(super) fn explained(&self, error: PullError) -> PullError {
        match error {
            PullError::Denied { .. } if self.tried() == 0 => self.failure().unwrap_or(error),
            other => other,
        }
    }

    /// None if this credential is not taken.
    async fn answer(
        &self,
        challenge: &Challenge,
        credential: Option<&Credential>,
        client: &Client,
    ) -> Result<Option<HeaderValue>, PullError> {
        let (realm, service, scope) = match (challenge, credential) {
            (_, Some(Credential::Token(token))) => return Ok(bearer(token)),
            (Challenge::Basic, Some(Credential::Password { user, password })) => {
                return Ok(Some(basic(user, password)));
            }
            (Challenge::Basic, _) => return Ok(None),
            (Challenge::Bearer { realm, service, scope }, _) => (realm, service, scope),
        };
        if !may_carry_secrets(realm, self.plain) {
            let why = format!("its tokens are to be had at {realm}, without TLS");
            return Err(PullError::Strange { registry: self.registry.clone(), why });
        }
        let scopes = scopes(&self.scopes, scope.as_deref());
        let request = question(client, realm, service.as_deref(), &scopes, credential);
        self.token(realm, request).await
    }

    async fn token(&self, realm: &Url, request: RequestBuilder) -> Result<Option<HeaderValue>, PullError> {
        let giver = giver(realm);
        let mut response = request.send().await.map_err(|e| unanswered(realm, e))?;
        if matches!(response.status().as_u16(), 400 | 401 | 403) {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(match PullError::refusal(&giver, response).await {
                // No image is missing, and no name wrong.
                PullError::NotFound { registry } => {
                    PullError::Strange { registry, why: "it gave no token (404)".to_owned() }
                }
                other => other,
            });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| cut(&giver, e))? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_TOKEN {
                break;
            }
        }
        // Neither the answer nor the parser's words about it: there is a secret in it.
        let given = serde_json::from_slice::<Given>(&body).ok().and_then(Given::token);
        let header = given.as_deref().and_then(bearer);
        let strange = || PullError::Strange { registry: giver, why: "it gave no token".to_owned() };
        header.ok_or_else(strange).map(Some)
    }
}

// === impl State ===

impl State {
    /// No other one is taken. One that the registry knew stays: it may be let in elsewhere.
    fn run_out(&mut self, beyond: usize) {
        let Some((candidate, header)) = self.passed_over.take() else {
            self.candidate = beyond;
            return;
        };
        let generation = self.generation + 1;
        *self = State { candidate, header: Some(header), worked: true, generation, passed_over: None };
    }
}

fn question(
    client: &Client,
    realm: &Url,
    service: Option<&str>,
    scopes: &[String],
    credential: Option<&Credential>,
) -> RequestBuilder {
    let service = service.map(|service| ("service", service));
    if let Some(Credential::Identity(secret)) = credential {
        let mut form = Url::parse("form:/").unwrap_or_else(|_| realm.clone());
        form.query_pairs_mut()
            .append_pair("grant_type", "refresh_token")
            .extend_pairs(service)
            .append_pair("client_id", CLIENT_ID)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("refresh_token", secret);
        let body = form.query().unwrap_or_default().to_owned();
        return client.post(realm.clone()).header(CONTENT_TYPE, FORM).body(body);
    }
    let mut address = realm.clone();
    address.query_pairs_mut().extend_pairs(service).extend_pairs(scopes.iter().map(|scope| ("scope", scope)));
    let request = client.get(address);
    match credential {
        Some(Credential::Password { user, password }) => request.header(AUTHORIZATION, basic(user, password)),
        _ => request,
    }
}

/// Where tokens are given, for errors: often the registry's own host, of which the path tells it apart.
fn giver(realm: &Url) -> String {
    format!("{}{}", authority(realm), realm.path())
}

fn unanswered(realm: &Url, error: reqwest::Error) -> PullError {
    match PullError::unanswered(&authority(realm), error) {
        PullError::Network { source, .. } => PullError::Network { registry: giver(realm), source },
        certificate => certificate,
    }
}

/// Like an answer of a registry that breaks off, it may come whole the next time.
fn cut(giver: &str, error: reqwest::Error) -> PullError {
    let source = Box::new(error.without_url());
    PullError::Cut { registry: giver.to_owned(), digest: "a token".to_owned(), source }
}

/// Host and port, for errors.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn basic(user: &str, password: &str) -> HeaderValue {
    let text = BASE64_STANDARD.encode(format!("{user}:{password}"));
    let mut header =
        HeaderValue::try_from(format!("Basic {text}")).unwrap_or(HeaderValue::from_static("Basic"));
    header.set_sensitive(true);
    header
}

/// None for a token that no header can carry.
fn bearer(token: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {token}")).ok()
}

#[cfg(test)]
mod tests;
