//! Where the parts of an image lie: the one thing that archives and registries must be able to do.
//!
//! Finding the image for a host and reading its documents is the same for both and stands here, with every
//! check of what others wrote.

use std::io::{self, Read};

use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::digest::Digest;
use crate::document::{Configuration, Descriptor, Document, Manifest};
use crate::platform::{self, Candidate, Host, Isolation, NoMatch};

/// Index, manifest and configuration are small; a large one is not one.
pub(crate) const LONGEST_DOCUMENT: u64 = 8 << 20;
/// How deep an index may point to an index.
pub(crate) const DEEPEST_INDEX: usize = 4;

/// What is wrong with an image, wherever it lies.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    #[error("{name} has {size} bytes, more than the {LONGEST_DOCUMENT} a document may have")]
    TooLarge { name: String, size: u64 },
    #[error("{name} is not the JSON it should be")]
    Json { name: String, source: serde_json::Error },
    #[error("{0:?} is not a sha256 digest")]
    Digest(String),
    #[error("blob {wanted} has the digest {found}: it is damaged")]
    Damaged { wanted: String, found: String },
    #[error(transparent)]
    Platform(#[from] NoMatch),
    #[error("the manifest lists {layers} layers and the configuration {diff_ids} diff ids: wanted as many")]
    DiffIds { layers: usize, diff_ids: usize },
    #[error("blob {0} is not here")]
    Missing(String),
    #[error("blob {digest} has {found} bytes, of which the manifest says {wanted}")]
    Size { digest: String, wanted: u64, found: u64 },
    #[error("the index points to indexes more than {DEEPEST_INDEX} deep")]
    TooDeep,
}

/// Somewhere that the parts of an image come from. Threads share it.
pub trait Blobs: Sync {
    type Error: From<ContentError> + std::error::Error + Send + Sync + 'static;

    /// Whether the root is a list of images rather than the image itself.
    const ROOT_IS_LIST: bool = false;
    /// How often a blob that came and is another one is asked for again.
    const DAMAGED_AGAIN: u32 = 0;

    /// The index or manifest that everything starts from.
    fn root(&self) -> Result<Root, Self::Error>;

    /// Another index or manifest. The caller checks its digest.
    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, Self::Error>;

    /// How long a configuration or a layer is said to be.
    fn size(&self, wanted: &Descriptor) -> Result<u64, Self::Error>;

    /// The bytes of a configuration or a layer from some place on. The caller checks their number and digest.
    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, Self::Error>;

    /// What came of a blob is another one. Who has several places to ask asks another one first the next time.
    /// Whoever wraps another passes it on.
    fn damaged(&self, wanted: &Digest);

    /// What a stream ended with.
    fn broken(error: io::Error) -> Self::Error;

    /// The image for this host.
    fn find(&self, host: &Host, isolation: Isolation) -> Result<Found, Self::Error> {
        let root = self.root()?;
        let mut document = json("the image's index", &root.bytes)?;
        let mut way = vec![root];
        for _ in 0..=DEEPEST_INDEX {
            let index = match document {
                Document::Manifest(manifest) => return Ok(Found::new(manifest, way, Self::ROOT_IS_LIST)),
                Document::Index(index) => index,
            };
            let picked = index.pick(host, isolation).map_err(ContentError::from)?;
            let bytes = self.manifest(picked)?;
            check(&picked.digest, &Sha256::digest(&bytes))?;
            document = json(&picked.digest, &bytes)?;
            way.push(Root { bytes, media_type: picked.media_type.clone() });
        }
        Err(ContentError::TooDeep.into())
    }

    /// A whole small blob, checked; asked for again as often as that may help.
    fn document(&self, wanted: &Descriptor) -> Result<Vec<u8>, Self::Error> {
        let (name, size) = (&wanted.digest, self.size(wanted)?);
        small(name, size)?;
        let mut again = Self::DAMAGED_AGAIN;
        loop {
            let mut bytes = Vec::new();
            self.stream(wanted, 0)?.take(size).read_to_end(&mut bytes).map_err(Self::broken)?;
            match check(name, &Sha256::digest(&bytes)) {
                Err(_) if again > 0 => {
                    again -= 1;
                    self.damaged(&Digest::parse(name)?);
                }
                checked => return Ok(checked.map(|()| bytes)?),
            }
        }
    }
}

/// An index or a manifest as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub bytes: Vec<u8>,
    pub media_type: Option<String>,
}

/// The image that was found for a host.
#[derive(Debug, Clone)]
pub struct Found {
    pub manifest: Manifest,
    /// The documents that led to it, the manifest last.
    pub way: Vec<Root>,
}

// === impl Found ===

impl Found {
    fn new(manifest: Manifest, mut way: Vec<Root>, root_is_list: bool) -> Found {
        if root_is_list && way.len() > 1 {
            way.remove(0);
        }
        Found { manifest, way }
    }

    /// What the name led to: an index or the manifest.
    pub fn target(&self) -> Digest {
        Digest::of(self.way.first().map_or(&[], |root| &root.bytes))
    }

    pub fn digest(&self) -> Digest {
        Digest::of(self.way.last().map_or(&[], |root| &root.bytes))
    }
}

/// An image's configuration, which must be for this host: an index's entry without a platform promises nothing.
pub fn configuration(
    name: &str,
    bytes: &[u8],
    host: &Host,
    isolation: Isolation,
) -> Result<Configuration, ContentError> {
    let configuration: Configuration = json(name, bytes)?;
    let platform = Some(configuration.platform.clone());
    platform::pick(&[Candidate { digest: name.to_owned(), platform }], host, isolation)?;
    Ok(configuration)
}

/// Documents are kept in memory: a large one is none.
pub(crate) fn small(name: &str, size: u64) -> Result<(), ContentError> {
    if size > LONGEST_DOCUMENT {
        return Err(ContentError::TooLarge { name: name.to_owned(), size });
    }
    Ok(())
}

/// Digests become file names and parts of addresses: only after this.
pub(crate) fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

pub(crate) fn json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, ContentError> {
    serde_json::from_slice(bytes).map_err(|source| ContentError::Json { name: name.to_owned(), source })
}

pub(crate) fn check(wanted: &str, hash: &[u8]) -> Result<(), ContentError> {
    let found = hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    if found == wanted { Ok(()) } else { Err(ContentError::Damaged { wanted: wanted.to_owned(), found }) }
}
