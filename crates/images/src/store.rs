//! Images of this host: pulled, unpacked, looked at.
//!
//! What is on the disk is [`crate::content`]'s; how it comes there is [`crate::pull`]'s. Here is what a container asks
//! for and what it gets. Several processes use one store at the same time.

mod every;
mod files;
mod lasting;
mod load;
mod old;
mod status;
mod warnings;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use os::tree::Marks;

use crate::archive::{Archive, ArchiveError};
use crate::blobs::{Blobs, ContentError};
use crate::content::{Content, DepotError, Key};
use crate::digest::Digest;
use crate::document::Runs;
use crate::names::Named;
use crate::platform::{Host, Isolation};
use crate::policy::PullPolicy;
use crate::progress::{Caller, Progress};
use crate::pull::{Halt, Pull, Pulled};
use crate::record::Record;
use crate::reference::Reference;
use crate::registry::answer::PullError;
use crate::registry::{Access, Remote};
use crate::source::Source;
use crate::stack::Above;
use crate::unpack::UnpackError;

pub use every::Every;
pub(crate) use every::Here;
pub use status::Status;

use lasting::UnderWay;

/// The images of one host.
#[derive(Debug, Clone)]
pub struct Store {
    content: Content,
    /// What layers for an overlay are marked with; without it images are unpacked whole.
    marks: Option<Marks>,
    under_way: Arc<UnderWay>,
}

/// What a container asks for, and the host it is for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub source: &'a Source,
    /// If the pod says so; else the default of the reference.
    pub policy: Option<PullPolicy>,
    pub host: &'a Host,
    pub isolation: Isolation,
    pub access: &'a Access,
    /// For whom the image is kept from now on, until [`Content::unpin`].
    pub pin: Option<&'a str>,
}

/// An image, ready to be a container's lower layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its configuration's digest; a directory that is its own image has none.
    pub id: Option<Digest>,
    /// Where its files are. Shared: containers must not write there.
    pub files: Files,
    pub runs: Runs,
}

/// The files of an image, as the host can use them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Files {
    /// All in one directory.
    Dir(PathBuf),
    /// Layers for an overlay.
    Layers {
        /// The top one first.
        lower: Vec<PathBuf>,
        /// What has to stand above them, parents first: see [`crate::stack`].
        implied: Vec<Above>,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("image directory {path} is not a directory")]
    NotADirectory { path: PathBuf },
    #[error("image archive {path}")]
    Archive { path: PathBuf, source: ArchiveError },
    #[error("layer {digest} of {image}")]
    Layer { image: String, digest: String, source: UnpackError },
    #[error("layer {digest} of {image} unpacks to {found}, of which the configuration says {wanted}")]
    DiffId { image: String, digest: String, wanted: String, found: String },
    #[error("pull {reference}")]
    Pull { reference: String, source: Box<PullError> },
    #[error("pull {image}: interrupted")]
    GaveUp { image: String },
    #[error(
        "{reference} is not on this host and imagePullPolicy is Never: \
         wanted an image that was pulled before, or the policy IfNotPresent"
    )]
    Never { reference: String },
    #[error("unpack {image}")]
    Stored { image: Digest, source: ContentError },
    #[error(transparent)]
    Depot(#[from] DepotError),
    #[error("the image store at {path}")]
    Store { path: PathBuf, source: io::Error },
}

/// How an error of a registry becomes one of the image.
type Bad<'a> = dyn Fn(PullError) -> ImageError + Sync + 'a;

// === impl Store ===

impl Store {
    /// Opens the store and removes what an earlier version, or a process that died, left in it.
    pub fn open(dir: &Path) -> Result<Store, ImageError> {
        let content = Content::open(dir)?;
        old::sweep(dir).map_err(|source| ImageError::Store { path: dir.to_owned(), source })?;
        Ok(Store { marks: overlay_marks(&content)?, content, under_way: Arc::default() })
    }

    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The image that is wanted, pulled and unpacked if it was not yet.
    pub fn ensure(&self, wanted: &Wanted<'_>, caller: Caller<'_>) -> Result<Image, ImageError> {
        match wanted.source {
            Source::Dir(path) if path.is_dir() => {
                Ok(Image { id: None, files: Files::Dir(path.clone()), runs: Runs::default() })
            }
            Source::Dir(path) => Err(ImageError::NotADirectory { path: path.clone() }),
            Source::OciArchive(path) => {
                let pulled = self.take_archive(path, &path.display().to_string(), wanted, true, caller)?;
                self.ready(&pulled.record, wanted)
            }
            Source::Reference(reference) => self.ensure_reference(reference, wanted, caller),
        }
    }

    /// Brings what a name means now; unpacked, or its blobs only.
    pub fn pull(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Record, ImageError> {
        Ok(self.bring(reference, wanted, unpack, caller)?.record)
    }

    fn bring(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Pulled, ImageError> {
        from_registry(reference, wanted, caller, |remote, name, halt, caller, bad| {
            let pulled = self.take(remote, name, wanted, unpack, halt, caller, bad)?;
            self.name(reference, &pulled)?;
            Ok(pulled)
        })
    }

    fn ensure_reference(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        caller: Caller<'_>,
    ) -> Result<Image, ImageError> {
        let policy = wanted.policy.unwrap_or_else(|| PullPolicy::default_for(reference));
        if policy != PullPolicy::Always
            && let Some(id) = self.named(reference)?
            && let Some(image) = self.here(&id, wanted, caller)?
        {
            return Ok(image);
        }
        if policy == PullPolicy::Never {
            return Err(ImageError::Never { reference: reference.to_string() });
        }
        let pulled = self.bring(reference, wanted, true, caller)?;
        self.ready(&pulled.record, wanted)
    }

    fn take_archive(
        &self,
        path: &Path,
        name: &str,
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Pulled, ImageError> {
        let bad = |source| ImageError::Archive { path: path.to_owned(), source };
        let archive = Archive::open(path).map_err(bad)?;
        self.take(&archive, name, wanted, unpack, &Halt::new(caller), caller, &bad)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a pull, named where it is made")]
    fn take<B: Blobs>(
        &self,
        blobs: &B,
        name: &str,
        wanted: &Wanted<'_>,
        unpack: bool,
        halt: &Halt<'_>,
        caller: Caller<'_>,
        bad: &(dyn Fn(B::Error) -> ImageError + Sync),
    ) -> Result<Pulled, ImageError> {
        let pull = Pull { content: &self.content, blobs, marks: self.marks, name, caller, halt, bad };
        pull.run(wanted.host, wanted.isolation, unpack)
    }

    /// From now on the name means this image.
    fn name(&self, reference: &Reference, pulled: &Pulled) -> Result<(), ImageError> {
        let (id, target) = (pulled.record.id.clone(), pulled.target.clone());
        let named = Named { id, target, indexes: pulled.indexes.clone() };
        Ok(self.content.names().set(reference, &named)?)
    }
}

/// Whatever is brought from a registry: with its beginning and its end told, and one patience for all of it.
fn from_registry<T>(
    reference: &Reference,
    wanted: &Wanted<'_>,
    caller: Caller<'_>,
    bring: impl FnOnce(&Remote<'_>, &str, &Halt<'_>, Caller<'_>, &Bad<'_>) -> Result<T, ImageError>,
) -> Result<T, ImageError> {
    let (name, begun) = (reference.to_string(), Instant::now());
    let bad = |e| match e {
        PullError::GaveUp => ImageError::GaveUp { image: name.clone() },
        e => ImageError::Pull { reference: name.clone(), source: Box::new(e) },
    };
    (caller.tell)(&Progress::Pulling { reference: name.clone() });
    let halt = Halt::new(caller);
    let gave_up = || halt.is_called();
    let inner = Caller { tell: caller.tell, gave_up: &gave_up };
    let remote = Remote::open(reference, wanted.access, inner).map_err(bad)?;
    let brought = bring(&remote, &name, &halt, inner, &bad)?;
    let (bytes, took) = (remote.moved(), begun.elapsed());
    (caller.tell)(&Progress::Pulled { reference: name, bytes, took });
    Ok(brought)
}

/// Tried in a place that the next opening sweeps, should this process die meanwhile.
fn overlay_marks(content: &Content) -> Result<Option<Marks>, ImageError> {
    let own = Digest::of(format!("what overlays process {} can make", std::process::id()).as_bytes());
    let _flight = content.flight(Key::Layer(own.clone()), &|| false)?;
    let place = content.new_layer(&own)?;
    Ok(os::tree::overlay_marks(place.files()).ok())
}

#[cfg(test)]
mod tests;
