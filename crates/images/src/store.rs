//! Unpacked images: complete or absent, never half.
//!
//! An image is unpacked beside its place and renamed into it, so a kill at any moment leaves either the
//! whole image or a directory that the next start sweeps.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchiveError, Chosen};
use crate::document::{Configuration, Runs};
use crate::source::Source;
use crate::unpack::{self, Layout, UnpackError};

/// The directory in which images stand unpacked. One process at a time uses it; the caller holds the lock.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
}

/// An image, ready to be a container's lower layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Where its files are. Shared: containers must not write there.
    pub files: PathBuf,
    pub runs: Runs,
}

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("image directory {path} is not a directory")]
    NotADirectory { path: PathBuf },
    #[error("image archive {path}")]
    Archive { path: PathBuf, source: ArchiveError },
    #[error("layer {digest} of {path}")]
    Layer { path: PathBuf, digest: String, source: UnpackError },
    #[error(
        "image {0:?} would have to be pulled, which is not supported yet: use dir:PATH or oci-archive:PATH"
    )]
    Pull(String),
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
        let store = Store { dir: dir.to_owned() };
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

    /// The image of this source, unpacked if it was not yet.
    pub fn ensure(&self, source: &Source, os: &str, architecture: &str) -> Result<Image, ImageError> {
        match source {
            Source::Dir(path) if path.is_dir() => Ok(Image { files: path.clone(), runs: Runs::default() }),
            Source::Dir(path) => Err(ImageError::NotADirectory { path: path.clone() }),
            Source::OciArchive(path) => self.ensure_archive(path, os, architecture),
            Source::Reference(reference) => Err(ImageError::Pull(reference.clone())),
        }
    }

    fn ensure_archive(&self, path: &Path, os: &str, architecture: &str) -> Result<Image, ImageError> {
        let bad = |source| ImageError::Archive { path: path.to_owned(), source };
        let archive = Archive::open(path).map_err(bad)?;
        let chosen = archive.choose(os, architecture).map_err(bad)?;
        let place = self.dir.join(chosen.id.replace(':', "-"));
        if !place.is_dir() {
            let unfinished = self.dir.join(format!("{UNFINISHED}{}", chosen.id.replace(':', "-")));
            let stored = |source| ImageError::Store { path: unfinished.clone(), source };
            os::file::remove_tree(&unfinished).or_else(absent_is_fine).map_err(stored)?;
            unpack_archive(&archive, &chosen, path, &unfinished)?;
            std::fs::rename(&unfinished, &place).map_err(stored)?;
        }
        Ok(Image { files: place.join(FILES), runs: chosen.configuration.config })
    }
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn unpack_archive(archive: &Archive, chosen: &Chosen, path: &Path, into: &Path) -> Result<(), ImageError> {
    let bad = |source| ImageError::Archive { path: path.to_owned(), source };
    write_configuration(&chosen.configuration, into)
        .map_err(|source| ImageError::Store { path: into.to_owned(), source })?;
    let layout = if chosen.configuration.platform.os == "windows" { Layout::Windows } else { Layout::Plain };
    for layer in &chosen.layers {
        let mut blob = archive.blob(&layer.digest).map_err(bad)?;
        unpack::apply(&mut blob, &into.join(FILES), layout).map_err(|source| ImageError::Layer {
            path: path.to_owned(),
            digest: layer.digest.clone(),
            source,
        })?;
        blob.finish().map_err(bad)?;
    }
    Ok(())
}

fn write_configuration(configuration: &Configuration, into: &Path) -> io::Result<()> {
    std::fs::create_dir_all(into.join(FILES))?;
    std::fs::write(into.join(CONFIGURATION), serde_json::to_vec_pretty(configuration)?)
}

#[cfg(test)]
mod tests;
