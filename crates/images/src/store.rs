//! Unpacked images: complete or absent, never half.
//!
//! An image is unpacked beside its place and renamed into it, so a kill at any moment leaves either the
//! whole image or a directory that the next start sweeps.

mod load;
mod names;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::names::Names;
use crate::archive::{Archive, ArchiveError};
use crate::blobs::{Blobs, ContentError, file_name};
use crate::document::{Configuration, Manifest, Runs};
use crate::policy::PullPolicy;
use crate::progress::{Caller, Progress};
use crate::reference::Reference;
use crate::registry::answer::PullError;
use crate::registry::{Access, Spool};
use crate::source::Source;
use crate::stack::Above;
use crate::unpack::{self, Layout, UnpackError};

/// The directory in which images stand unpacked. One process at a time uses it; the caller holds the lock.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    names: Names,
}

/// What a container asks for, and the host it is for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub source: &'a Source,
    /// If the pod says so; else the default of the reference.
    pub policy: Option<PullPolicy>,
    pub os: &'a str,
    pub architecture: &'a str,
}

/// An image, ready to be a container's lower layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
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
        /// What has to stand above them, parents first: see [`crate::stack::above`].
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
    #[error("pull {reference}")]
    Pull { reference: String, source: Box<PullError> },
    #[error(
        "{reference} is not on this host and imagePullPolicy is Never: \
         wanted an image that was pulled before, or the policy IfNotPresent"
    )]
    Never { reference: String },
    #[error("the list of pulled images {path}: without it they are pulled again")]
    Names { path: PathBuf, source: io::Error },
    #[error("the image store at {path}")]
    Store { path: PathBuf, source: io::Error },
}

const CONFIGURATION: &str = "config.json";
const FILES: &str = "files";
const UNFINISHED: &str = "unfinished-";

// === impl Store ===

impl Store {
    /// Opens the store and removes what an interrupted unpacking left.
    pub fn open(dir: &Path) -> Result<Store, ImageError> {
        let store = Store { dir: dir.to_owned(), names: Names::of(dir) };
        store.open_dir().map_err(|source| ImageError::Store { path: dir.to_owned(), source })?;
        Ok(store)
    }

    fn open_dir(&self) -> io::Result<()> {
        os::file::make_private_dir(&self.dir)?;
        for entry in std::fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                os::file::remove_tree(&entry.path())?;
            }
        }
        Ok(())
    }

    /// The image that is wanted, pulled and unpacked if it was not yet.
    pub fn ensure(&self, wanted: &Wanted<'_>, caller: Caller<'_>) -> Result<Image, ImageError> {
        match wanted.source {
            Source::Dir(path) if path.is_dir() => {
                Ok(Image { files: Files::Dir(path.clone()), runs: Runs::default() })
            }
            Source::Dir(path) => Err(ImageError::NotADirectory { path: path.clone() }),
            Source::OciArchive(path) => self.ensure_archive(path, wanted),
            Source::Reference(reference) => self.ensure_reference(reference, wanted, caller),
        }
    }

    fn ensure_archive(&self, path: &Path, wanted: &Wanted<'_>) -> Result<Image, ImageError> {
        let bad = |source| ImageError::Archive { path: path.to_owned(), source };
        let archive = Archive::open(path).map_err(bad)?;
        Ok(self.take(&archive, wanted, &path.display().to_string(), bad)?.1)
    }

    fn ensure_reference(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        caller: Caller<'_>,
    ) -> Result<Image, ImageError> {
        let policy = wanted.policy.unwrap_or_else(|| PullPolicy::default_for(reference));
        if policy != PullPolicy::Always
            && let Some(id) = self.names.get(reference).map_err(|e| self.unlisted(e))?
            && let Some(image) = self.present(&id, wanted)
        {
            return Ok(image);
        }
        if policy == PullPolicy::Never {
            return Err(ImageError::Never { reference: reference.to_string() });
        }
        self.pull(reference, wanted, caller)
    }

    fn pull(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        caller: Caller<'_>,
    ) -> Result<Image, ImageError> {
        let (name, begun) = (reference.to_string(), Instant::now());
        let bad = |e| ImageError::Pull { reference: name.clone(), source: Box::new(e) };
        (caller.tell)(&Progress::Pulling { reference: name.clone() });
        let blobs = Unfinished::make(&self.dir)?;
        let remote = Spool::open(reference, &Access::default(), &blobs.path, caller).map_err(bad)?;
        let (id, image) = self.take(&remote, wanted, &name, bad)?;
        self.names.set(reference, &id).map_err(|e| self.unlisted(e))?;
        let (bytes, took) = (remote.moved(), begun.elapsed());
        (caller.tell)(&Progress::Pulled { reference: name, bytes, took });
        Ok(image)
    }

    /// The image of these blobs and its id. An image that is here already costs its manifest only.
    fn take<B: Blobs>(
        &self,
        blobs: &B,
        wanted: &Wanted<'_>,
        name: &str,
        bad: impl Fn(B::Error) -> ImageError,
    ) -> Result<(String, Image), ImageError> {
        let manifest = blobs.find(wanted.os, wanted.architecture).map_err(&bad)?;
        let id = manifest.config.digest.clone();
        let place = self.place(&id).map_err(|e| bad(e.into()))?;
        if let Some(image) = self.present(&id, wanted) {
            return Ok((id, image));
        }
        let configuration = blobs.configuration(&manifest, wanted.os, wanted.architecture).map_err(&bad)?;
        let unfinished = Unfinished::make(&self.dir)?;
        unpack_into(&unfinished.path, blobs, &manifest, &configuration, name, bad)?;
        unfinished.become_whole(&place)?;
        Ok((id, Image { files: Files::Dir(place.join(FILES)), runs: configuration.config }))
    }

    fn place(&self, id: &str) -> Result<PathBuf, ContentError> {
        Ok(self.dir.join(file_name(id)?))
    }

    /// The image with this id, if it is here and for this platform.
    fn present(&self, id: &str, wanted: &Wanted<'_>) -> Option<Image> {
        let place = self.place(id).ok()?;
        let bytes = std::fs::read(place.join(CONFIGURATION)).ok()?;
        let configuration: Configuration = serde_json::from_slice(&bytes).ok()?;
        let platform = &configuration.platform;
        let fits = platform.os == wanted.os && platform.architecture == wanted.architecture;
        fits.then(|| Image { files: Files::Dir(place.join(FILES)), runs: configuration.config })
    }

    fn unlisted(&self, source: io::Error) -> ImageError {
        ImageError::Names { path: self.names.path().to_owned(), source }
    }
}

fn unpack_into<B: Blobs>(
    dir: &Path,
    blobs: &B,
    manifest: &Manifest,
    configuration: &Configuration,
    name: &str,
    bad: impl Fn(B::Error) -> ImageError,
) -> Result<(), ImageError> {
    write_configuration(configuration, dir)
        .map_err(|source| ImageError::Store { path: dir.to_owned(), source })?;
    let layout = if configuration.platform.os == "windows" { Layout::Windows } else { Layout::Plain };
    for layer in &manifest.layers {
        let mut blob = blobs.blob(layer).map_err(&bad)?;
        unpack::apply(&mut blob, &dir.join(FILES), layout).map_err(|source| ImageError::Layer {
            image: name.to_owned(),
            digest: layer.digest.clone(),
            source,
        })?;
        blob.finish().map_err(|e| bad(e.into()))?;
    }
    Ok(())
}

fn write_configuration(configuration: &Configuration, into: &Path) -> io::Result<()> {
    std::fs::create_dir_all(into.join(FILES))?;
    std::fs::write(into.join(CONFIGURATION), serde_json::to_vec_pretty(configuration)?)
}

/// A directory of the store that goes when it does not become whole; after a crash at the next opening.
#[derive(Debug)]
struct Unfinished {
    path: PathBuf,
}

// === impl Unfinished ===

impl Unfinished {
    fn make(store: &Path) -> Result<Unfinished, ImageError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let name = format!("{UNFINISHED}{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let path = store.join(name);
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Unfinished { path }),
            Err(source) => Err(ImageError::Store { path, source }),
        }
    }

    fn become_whole(self, place: &Path) -> Result<(), ImageError> {
        // What stands there was found not to be an image: its configuration cannot be read.
        os::file::remove_tree(place)
            .and_then(|()| std::fs::rename(&self.path, place))
            .map_err(|source| ImageError::Store { path: place.to_owned(), source })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The error that led here is the one to tell; the next opening sweeps what stays.
        drop(os::file::remove_tree(&self.path));
    }
}

#[cfg(test)]
mod tests;
