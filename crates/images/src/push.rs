//! An image of the store to a registry: blobs first, then what names them, so that a name never leads to nothing.
//!
//! What the registry has already is not sent (HEAD), what it has in another repository is mounted from there, and
//! layers that may not be handed out stay where their descriptor says.

mod plan;
mod upload;

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use crate::blobs::ContentError;
use crate::content::{Content, DepotError};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::progress::{Caller, Progress};
use crate::reference::Reference;
use crate::registry::answer::PullError;
use crate::registry::{Access, Ask, Endpoint, Purpose, Session, persist};
use plan::{Blob, Paper, Plan};

/// What a push did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Of the index or manifest that the name leads to now.
    pub digest: Digest,
    /// Bytes of blobs that were sent.
    pub moved: u64,
    pub sent: usize,
    /// Blobs that the registry took from another of its repositories.
    pub mounted: usize,
    /// Blobs that were there.
    pub present: usize,
}

/// Why an image did not get to its registry.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error("{digest}, which {of} names, is neither in the store nor in the registry")]
    Missing { digest: String, of: String },
    #[error("send {what}")]
    Send { what: String, source: Box<PullError> },
    #[error(transparent)]
    Open(Box<PullError>),
    #[error("no host for {registry} takes pushes: its hosts.toml gives `push` to none")]
    NoHost { registry: String },
    #[error(transparent)]
    Store(#[from] DepotError),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("read blob {digest}")]
    Read { digest: String, source: io::Error },
    #[error("{registry} took {name} for {found}, wanted {wanted}")]
    OtherDigest { registry: String, name: String, found: String, wanted: String },
}

/// How many blobs are sent at a time.
const AT_ONCE: usize = 4;

/// A push under way.
struct Push<'a> {
    reference: &'a Reference,
    content: &'a Content,
    endpoint: &'a Endpoint,
    caller: Caller<'a>,
    moved: AtomicU64,
    sent: AtomicUsize,
    mounted: AtomicUsize,
    present: AtomicUsize,
}

/// Sends everything that `root` leads to, and gives it the reference's name.
pub fn push(
    reference: &Reference,
    access: &Access,
    content: &Content,
    root: &Descriptor,
    caller: Caller<'_>,
) -> Result<Pushed, PushError> {
    // Nothing of it may be collected meanwhile.
    let plan = Plan::make(content, root, reference)?;
    let _held = content.hold(&plan.digests())?;
    let scopes: Vec<_> = plan.sources().iter().map(|from| format!("repository:{from}:pull")).collect();
    let session = Session::open(reference, access, Purpose::Push, &scopes);
    let session = session.map_err(|e| PushError::Open(Box::new(e)))?;
    let nobody = || PushError::NoHost { registry: reference.registry().to_owned() };
    let endpoint = session.push_endpoint().ok_or_else(nobody)?;
    let none = AtomicUsize::default;
    let (sent, mounted, present, moved) = (none(), none(), none(), AtomicU64::default());
    let layers = plan.blobs.iter().filter_map(|blob| Some((blob.digest.clone(), blob.size?))).collect();
    let digest = Digest::parse(&root.digest)?;
    let (name, resolved) = (reference.to_string(), digest.clone());
    (caller.tell)(&Progress::Resolved { reference: name, digest: resolved, blobs: layers });
    let push = Push { reference, content, endpoint, caller, moved, sent, mounted, present };
    push.blobs(&plan.blobs)?;
    plan.papers.iter().try_for_each(|paper| push.paper(paper))?;
    Ok(push.done(digest))
}

// === impl Push ===

impl Push<'_> {
    /// Several at a time; the first failure ends the others after what they are at.
    fn blobs(&self, blobs: &[Blob]) -> Result<(), PushError> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(blobs.len()) {
                scope.spawn(|| {
                    while let Some(blob) = blobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = self.blob(blob) {
                            next.store(blobs.len(), Ordering::Relaxed);
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// An index or a manifest, whose parts are all there by now.
    fn paper(&self, paper: &Paper) -> Result<(), PushError> {
        let digest = paper.digest.as_str();
        let name = if paper.is_root { self.reference.tag().unwrap_or(digest) } else { digest };
        let path = self.path(&format!("manifests/{name}"));
        let Some(bytes) = &paper.bytes else {
            return if self.has(&path)? { Ok(()) } else { Err(paper.missing()) };
        };
        let mut ask = Ask::new(Method::PUT, path).with(CONTENT_TYPE, &paper.media_type);
        ask.body = Some(bytes.clone());
        let response = self.persist(name, || self.endpoint.send(&ask))?;
        let said = response.headers().get("Docker-Content-Digest").and_then(|value| value.to_str().ok());
        match said.filter(|said| said.starts_with("sha256:") && *said != digest) {
            None => Ok(()),
            Some(found) => Err(PushError::OtherDigest {
                registry: self.endpoint.name.clone(),
                name: name.to_owned(),
                found: found.to_owned(),
                wanted: digest.to_owned(),
            }),
        }
    }

    /// Whether the registry has what is at this path.
    fn has(&self, path: &str) -> Result<bool, PushError> {
        let ask = Ask::new(Method::HEAD, path.to_owned());
        self.persist(path, || async {
            match self.endpoint.send(&ask).await {
                Ok(_) => Ok(true),
                Err(PullError::NotFound { .. }) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    fn path(&self, rest: &str) -> String {
        format!("{}/{rest}", self.reference.repository())
    }

    fn persist<T, F: Future<Output = Result<T, PullError>>>(
        &self,
        what: &str,
        once: impl Fn() -> F,
    ) -> Result<T, PushError> {
        persist(self.caller, self.reference, once).map_err(|source| sending(what, source))
    }

    fn done(&self, digest: Digest) -> Pushed {
        let count = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        Pushed {
            digest,
            moved: self.moved.load(Ordering::Relaxed),
            sent: count(&self.sent),
            mounted: count(&self.mounted),
            present: count(&self.present),
        }
    }
}

fn sending(what: &str, source: PullError) -> PushError {
    PushError::Send { what: what.to_owned(), source: Box::new(source) }
}
