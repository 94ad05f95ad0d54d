//! What can go wrong in the store, with the thing's name and path.

use std::io;
use std::path::{Path, PathBuf};

use crate::content::Key;
use crate::digest::Digest;

#[derive(Debug, thiserror::Error)]
pub enum DepotError {
    #[error("{what} {path}")]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{path} is not the JSON it should be; `porthole image fsck --repair` removes what is damaged")]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{path} is of version {found}, wanted {wanted} or older: a newer porthole wrote it")]
    Version { path: PathBuf, found: u32, wanted: u32 },
    #[error("the boot of this machine cannot be told from another")]
    Boot(#[source] io::Error),
    #[error("gave up waiting for {0}, which somebody else is making")]
    GaveUp(Key),
    #[error("{0} is being made without its flight")]
    NoFlight(Key),
    #[error("blob {digest} was announced with {size} bytes and is longer")]
    TooLong { digest: Digest, size: u64 },
    #[error("blob {digest} was announced with {size} bytes and has {found}")]
    Short { digest: Digest, size: u64, found: u64 },
    /// What was there from an earlier try may be to blame: a new one starts from nothing.
    #[error("blob {wanted} has the digest {found}: it is damaged ({resumed} bytes were there before)")]
    Damaged { wanted: Digest, found: Digest, resumed: u64 },
    #[error("no image {0:?} here")]
    NoImage(String),
    #[error("{text:?} can mean {}", crate::content::listed(.images))]
    Ambiguous { text: String, images: Vec<Digest> },
    #[error("image {image} is used by {}", by.join(", "))]
    InUse { image: Digest, by: Vec<String> },
    #[error("image {image} has more than one name ({}): wanted one of them, or force", names.join(", "))]
    SeveralNames { image: Digest, names: Vec<String> },
    #[error("the name of a user of images has {found} bytes in a file name, wanted at most {most}")]
    OwnerTooLong { found: usize, most: usize },
}

/// Says what was done to which file when it failed.
pub(crate) trait At<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, DepotError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, DepotError> {
        self.map_err(|source| DepotError::File { what, path: path.to_owned(), source })
    }
}

/// Something that may be missing.
pub(crate) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
