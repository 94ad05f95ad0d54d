//! Images in registries.
//!
//! oci-client, the crate that most Rust programs use for this, cannot carry what a node needs: its errors lose
//! `Retry-After`, it asks one mirror instead of the registry and none before it, it holds one credential per registry and
//! knows no identity tokens, and what a cut or a range means is left to its caller (docs/decisions/0010). So that a pull
//! and a push have one login, one set of retries and one kind of error, all requests are made here, with the crates
//! beneath it (reqwest and http-auth); it stays as the judge of our grammar of names, in the tests.
//!
//! | module | what it knows |
//! |---|---|
//! | [`answer`] | what went wrong, and whether to ask again |
//! | `backoff` | when to ask again |
//! | `challenge`, `login` | what a registry wants to see, and who shows it |
//! | `endpoint`, `client`, `identity` | one address: requests, redirects, certificates |
//! | `session`, `trust` | all addresses of a registry, in their order |
//! | `course`, `segment`, `stream` | a blob: ranges, cuts, and what is fetched ahead |
//! | `foreign` | layers that are elsewhere |
//! | `network` | the one thread that waits for all of this |

pub mod answer;
mod backoff;
mod challenge;
mod client;
mod course;
mod endpoint;
mod foreign;
mod identity;
mod login;
pub(crate) mod network;
mod segment;
mod session;
mod stream;
mod trust;

use std::sync::Arc;

use crate::blobs::{ContentError, is_digest};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::hosts::Hosts;
use crate::keyring::Keyring;
use crate::progress::{Caller, Progress};
use crate::reference::Reference;
use answer::PullError;

pub(crate) use backoff::Tries;
pub(crate) use endpoint::{Ask, Endpoint, Target};
pub(crate) use session::{Purpose, Session};
pub use stream::BlobStream;

const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// How registries are reached. The default asks them at their own address, without an account.
#[derive(Debug, Clone, Default)]
pub struct Access {
    pub keyring: Keyring,
    pub hosts: Hosts,
}

/// One image in a registry, while it is pulled. The threads of a pull share it.
#[derive(Debug)]
pub struct Remote<'a> {
    reference: Reference,
    session: Arc<Session>,
    caller: Caller<'a>,
}

/// An index or a manifest that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub bytes: Vec<u8>,
    pub digest: Digest,
    pub media_type: String,
}

// === impl Remote ===

impl<'a> Remote<'a> {
    pub fn open(reference: &Reference, access: &Access, caller: Caller<'a>) -> Result<Remote<'a>, PullError> {
        let session = Arc::new(Session::open(reference, access, Purpose::Pull, &[])?);
        Ok(Remote { reference: reference.clone(), session, caller })
    }

    /// What the name leads to: an index or a manifest.
    pub fn root(&self) -> Result<Fetched, PullError> {
        let name =
            self.reference.digest().or_else(|| self.reference.tag()).unwrap_or(crate::reference::DEFAULT_TAG);
        let resolves = self.reference.digest().is_none();
        persist(self.caller, &self.reference, || self.session.document(name, resolves))
    }

    /// Another index or manifest, checked.
    pub fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, PullError> {
        if !is_digest(&wanted.digest) {
            return Err(ContentError::Digest(wanted.digest.clone()).into());
        }
        let fetched = persist(self.caller, &self.reference, || self.session.document(&wanted.digest, false))?;
        Ok(fetched.bytes)
    }

    /// The bytes of a blob in order, from this place to its end. Cuts, limits and mirrors are dealt with inside; an
    /// error of the stream is an [`std::io::Error`] around a [`PullError`]. It begins to come at once.
    pub fn blob(&self, wanted: &Descriptor, from: u64) -> Result<BlobStream<'a>, PullError> {
        BlobStream::open(&self.session, self.reference.to_string(), wanted, from, self.caller)
    }

    /// What came of a blob had another digest.
    pub(crate) fn damaged(&self, digest: &Digest) {
        self.session.trust.damaged(digest.as_str());
    }

    /// How many bytes of blobs came.
    pub fn moved(&self) -> u64 {
        self.session.moved()
    }
}

/// Asks until there is an answer, a final error, or the caller has enough.
pub(crate) fn persist<T, F: Future<Output = Result<T, PullError>>>(
    caller: Caller<'_>,
    reference: &Reference,
    once: impl Fn() -> F,
) -> Result<T, PullError> {
    let mut tries = Tries::default();
    loop {
        let error = match network::wait(caller, once())? {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (error, delay) = tries.after(error, 0)?;
        let reference = reference.to_string();
        (caller.tell)(&Progress::Retrying { reference, why: error.line(), delay });
        network::wait(caller, async { tokio::time::sleep(delay).await })?;
    }
}
