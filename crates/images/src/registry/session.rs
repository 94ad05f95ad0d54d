//! All addresses of one registry, for one repository: each question goes to the first that has the answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use super::answer::PullError;
use super::endpoint::{Ask, Endpoint};
use super::trust::Trust;
use super::{Access, Fetched, MANIFEST_TYPES, stream};
use crate::blobs::{ContentError, LONGEST_DOCUMENT, check, is_digest};
use crate::digest::Digest;
use crate::hosts::Abilities;
use crate::reference::Reference;

/// What a session is for, as registries name it in scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Pull,
    Push,
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(super) repository: String,
    endpoints: Vec<Endpoint>,
    /// For what is not in the registry: without any login.
    stranger: OnceLock<Client>,
    pub(super) silence: Duration,
    moved: AtomicU64,
    pub(super) trust: Trust,
    /// Segments of blobs that may be fetched ahead.
    pub(super) ahead: Arc<Semaphore>,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
}

// === impl Purpose ===

impl Purpose {
    fn actions(self) -> &'static str {
        match self {
            Purpose::Pull => "pull",
            Purpose::Push => "pull,push",
        }
    }

    /// How long a registry may say nothing. One that was given a large blob may read it again before it answers.
    fn silence(self) -> Duration {
        Duration::from_secs(match self {
            Purpose::Pull => 30,
            Purpose::Push => 300,
        })
    }
}

// === impl Session ===

impl Session {
    pub(crate) fn open(
        reference: &Reference,
        access: &Access,
        purpose: Purpose,
        more_scopes: &[String],
    ) -> Result<Session, PullError> {
        let (registry, repository) = (reference.registry(), reference.repository());
        let mut scopes = vec![format!("repository:{repository}:{}", purpose.actions())];
        scopes.extend_from_slice(more_scopes);
        let silence = access.hosts.silence().unwrap_or_else(|| purpose.silence());
        let mut endpoints = Vec::new();
        for (number, host) in access.hosts.of(registry)?.into_iter().enumerate() {
            let asked =
                if host.stands_in { super::login::authority(&host.base) } else { registry.to_owned() };
            let candidates = access.keyring.candidates(&asked, repository);
            let scopes = scopes.clone();
            endpoints.push(Endpoint::new(number, &host, registry, candidates, scopes, silence)?);
        }
        Ok(Session {
            repository: repository.to_owned(),
            endpoints,
            stranger: OnceLock::new(),
            silence,
            moved: AtomicU64::new(0),
            trust: Trust::default(),
            ahead: Arc::new(Semaphore::new(stream::SEGMENTS_AHEAD)),
        })
    }

    /// The client that knows no login, for layers that are to be had elsewhere. Few images have such.
    pub(super) fn stranger(&self) -> Result<&Client, PullError> {
        match self.stranger.get() {
            Some(client) => Ok(client),
            None => {
                let client = super::foreign::client(self.silence)?;
                Ok(self.stranger.get_or_init(|| client))
            }
        }
    }

    /// How many bytes of blobs came.
    pub(super) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    pub(super) fn count(&self, bytes: usize) {
        self.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Those that are good for it; the more often one was found wanting the later it comes, and last those that could
    /// not even be reached.
    fn order(&self, digest: &str, good: impl Fn(&Abilities) -> bool) -> Vec<&Endpoint> {
        let mut order: Vec<_> = self.endpoints.iter().filter(|endpoint| good(&endpoint.abilities)).collect();
        order.sort_by_key(|endpoint| (endpoint.is_down(), self.trust.doubts(digest, endpoint.number)));
        order
    }

    /// The first answer of success. If there is none the error is that of the registry itself, which is the one the
    /// user named. What is asked for decides whom to ask first.
    pub(super) async fn first<'s, T, F>(
        &'s self,
        name: &str,
        good: impl Fn(&Abilities) -> bool,
        ask: impl Fn(&'s Endpoint) -> F,
    ) -> Result<T, PullError>
    where
        F: Future<Output = Result<T, PullError>>,
    {
        let itself = self.endpoints.last().map(|endpoint| &endpoint.name);
        let mut failed = None;
        for endpoint in self.order(name, good) {
            match ask(endpoint).await {
                Ok(answer) => return Ok(answer),
                Err(error) if failed.is_none() || Some(&endpoint.name) == itself => failed = Some(error),
                Err(_) => {}
            }
        }
        let nobody = || PullError::Strange {
            registry: itself.cloned().unwrap_or_default(),
            why: "hosts.toml names no host that is good for this".to_owned(),
        };
        Err(failed.unwrap_or_else(nobody))
    }

    /// The one that takes pushes: the registry itself, unless its file says otherwise.
    pub(crate) fn push_endpoint(&self) -> Option<&Endpoint> {
        self.endpoints.iter().rfind(|endpoint| endpoint.abilities.push)
    }

    /// An index or a manifest, by tag or by digest.
    pub(super) async fn document(&self, name: &str, resolves: bool) -> Result<Fetched, PullError> {
        let path = format!("{}/manifests/{name}", self.repository);
        let ask = &Ask::get(path).with(ACCEPT, &MANIFEST_TYPES.join(", "));
        let good = |abilities: &Abilities| if resolves { abilities.resolve } else { abilities.pull };
        self.first(name, good, |endpoint| async move {
            let response = endpoint.send(ask).await?;
            let (headers, bytes) = read(&endpoint.name, name, response, self.silence).await?;
            fetched(name, &headers, bytes)
        })
        .await
    }
}

async fn read(
    registry: &str,
    name: &str,
    mut response: Response,
    silence: Duration,
) -> Result<(HeaderMap, Vec<u8>), PullError> {
    let too_large = |size| ContentError::TooLarge { name: name.to_owned(), size };
    if let Some(size) = response.content_length().filter(|size| *size > LONGEST_DOCUMENT) {
        return Err(too_large(size).into());
    }
    let headers = response.headers().clone();
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await.map_err(|e| {
            // A tag alone may be just a number.
            let (what, place) = (format!("manifest {name}"), format!("byte {}", bytes.len()));
            PullError::cut(registry, &what, &place, silence, e)
        })?;
        let Some(chunk) = chunk else { return Ok((headers, bytes)) };
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > LONGEST_DOCUMENT {
            return Err(too_large(bytes.len() as u64).into());
        }
    }
}

/// What was asked for by a digest has it; what was asked for by a tag has the one that the registry says.
fn fetched(name: &str, headers: &HeaderMap, bytes: Vec<u8>) -> Result<Fetched, PullError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let promised = if is_digest(name) { Some(name) } else { text("Docker-Content-Digest") };
    let hash = Sha256::digest(&bytes);
    if let Some(promised) = promised.filter(|digest| is_digest(digest)) {
        check(promised, &hash)?;
    }
    let said = text(CONTENT_TYPE.as_str()).and_then(|value| value.split(';').next()).map(str::trim);
    let media_type = match said.filter(|said| MANIFEST_TYPES.contains(said)) {
        Some(known) => known.to_owned(),
        None => {
            let typed = serde_json::from_slice::<Typed>(&bytes).ok().and_then(|typed| typed.media_type);
            typed.or_else(|| said.map(str::to_owned)).unwrap_or_default()
        }
    };
    Ok(Fetched { digest: Digest::from_hash(&hash), media_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Hosts;

    const INDEX: &str = "application/vnd.oci.image.index.v1+json";

    #[test]
    fn whoever_was_doubted_more_often_is_asked_later() {
        let certs = tempfile::tempdir().unwrap();
        std::fs::create_dir(certs.path().join("r.test")).unwrap();
        let mirror = "[host.\"http://mirror.test\"]\n";
        std::fs::write(certs.path().join("r.test/hosts.toml"), mirror).unwrap();
        let access = Access { hosts: Hosts::default().with_dir(certs.path()), ..Access::default() };
        let reference = Reference::parse("r.test/app:1").unwrap();
        let session = Session::open(&reference, &access, Purpose::Pull, &[]).unwrap();
        let order = || session.order("a", |_| true).iter().map(|found| found.number).collect::<Vec<_>>();
        let (mirror, itself) = (0, 1);
        assert_eq!(order(), [mirror, itself]);
        for (damaged, wanted) in [(mirror, [itself, mirror]), (itself, [mirror, itself])] {
            session.trust.gave("a", damaged);
            session.trust.damaged("a");
            assert_eq!(order(), wanted);
        }
        // Both are doubted; the mirror's second time is not forgotten for that.
        session.trust.gave("a", mirror);
        session.trust.damaged("a");
        assert_eq!(order(), [itself, mirror]);
    }

    fn answer(name: &str, headers: &[(&'static str, &str)], body: &str) -> Result<Fetched, PullError> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        fetched(name, &map, body.as_bytes().to_vec())
    }

    #[test]
    fn a_document_is_what_was_asked_for_or_promised() {
        let digest = Digest::of(b"{}").to_string();
        let other = Digest::of(b"other").to_string();
        assert_eq!(answer("1", &[], "{}").unwrap().digest.as_str(), digest);
        assert_eq!(
            answer(&digest, &[("docker-content-digest", &other)], "{}").unwrap().digest.as_str(),
            digest
        );
        let damaged = |found| matches!(found, Err(PullError::Content(ContentError::Damaged { .. })));
        assert!(damaged(answer(&other, &[], "{}")));
        assert!(damaged(answer("1", &[("docker-content-digest", &other)], "{}")));
        assert!(answer("1", &[("docker-content-digest", "sha512:00")], "{}").is_ok());
    }

    #[test]
    fn the_media_type_is_the_heads_or_the_bodys() {
        let body = format!(r#"{{"mediaType":"{INDEX}"}}"#);
        let kind = |headers, body| answer("1", headers, body).unwrap().media_type;
        let said: &[(&str, &str)] =
            &[("content-type", "application/vnd.oci.image.index.v1+json; charset=utf-8")];
        assert_eq!(kind(said, "{}"), INDEX);
        assert_eq!(kind(&[("content-type", "application/octet-stream")], &body), INDEX);
        assert_eq!(kind(&[], &body), INDEX);
        assert_eq!(kind(&[("content-type", "text/plain")], "{}"), "text/plain");
    }
}
