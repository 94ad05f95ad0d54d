//! Where the parts of an image lie: the one thing that archives and registries must be able to do.
//!
//! Finding the image for a host and reading its documents is the same for both and stands here, with every
//! check of what others wrote.

use std::fs::File;
use std::io::{self, Read, Take};

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::document::{Configuration, Descriptor, Document, Manifest};
use crate::platform::{Host, Isolation, NoMatch};

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
    #[error("the index points to indexes more than {DEEPEST_INDEX} deep")]
    TooDeep,
    #[error("read {name}")]
    Read { name: String, source: io::Error },
}

pub trait Blobs {
    type Error: From<ContentError>;

    /// The index or manifest that everything starts from.
    fn root(&self) -> Result<Vec<u8>, Self::Error>;

    /// Another index or manifest. The caller checks its digest.
    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, Self::Error>;

    /// A configuration or a layer.
    fn blob(&self, wanted: &Descriptor) -> Result<Blob, Self::Error>;

    /// The manifest of the image for this platform.
    fn find(&self, os: &str, architecture: &str) -> Result<Manifest, Self::Error> {
        self.find_for(&this_host(os, architecture), Isolation::HostProcess)
    }

    /// The manifest of the image for this host.
    fn find_for(&self, host: &Host, isolation: Isolation) -> Result<Manifest, Self::Error> {
        let mut document = json("the image's index", &self.root()?)?;
        for _ in 0..=DEEPEST_INDEX {
            let index = match document {
                Document::Manifest(manifest) => return Ok(manifest),
                Document::Index(index) => index,
            };
            let picked = index.pick(host, isolation).map_err(ContentError::from)?;
            let bytes = self.manifest(picked)?;
            check(&picked.digest, &Sha256::digest(&bytes))?;
            document = json(&picked.digest, &bytes)?;
        }
        Err(ContentError::TooDeep.into())
    }

    /// The configuration of an image that must be for this platform.
    fn configuration(
        &self,
        of: &Manifest,
        os: &str,
        architecture: &str,
    ) -> Result<Configuration, Self::Error> {
        let digest = &of.config.digest;
        let configuration: Configuration = json(digest, &self.blob(&of.config)?.document(digest)?)?;
        // An index's entry without a platform fits any host; the configuration always says what the image is for.
        let platform = &configuration.platform;
        if platform.os != os || platform.architecture != architecture {
            return Err(mismatch(os, architecture, platform.to_string()).into());
        }
        Ok(configuration)
    }
}

/// A blob as a stream. What was read is not to be trusted before [`Blob::finish`].
#[derive(Debug)]
pub struct Blob {
    from: Take<File>,
    /// Hashed while it is read, unless it was when it came.
    check: Option<(Sha256, String)>,
}

// === impl Blob ===

impl Blob {
    pub(crate) fn unchecked(from: Take<File>, digest: &str) -> Blob {
        Blob { from, check: Some((Sha256::new(), digest.to_owned())) }
    }

    pub(crate) fn checked(from: Take<File>) -> Blob {
        Blob { from, check: None }
    }

    /// The whole of a small one, checked.
    pub(crate) fn document(mut self, name: &str) -> Result<Vec<u8>, ContentError> {
        let size = self.from.limit();
        if size > LONGEST_DOCUMENT {
            return Err(ContentError::TooLarge { name: name.to_owned(), size });
        }
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)
            .map_err(|source| ContentError::Read { name: name.to_owned(), source })?;
        self.finish()?;
        Ok(bytes)
    }

    /// Reads what is left and compares the digest.
    pub fn finish(mut self) -> Result<(), ContentError> {
        let rest = if self.check.is_some() { io::copy(&mut self, &mut io::sink()) } else { Ok(0) };
        let Some((hash, wanted)) = self.check else { return Ok(()) };
        rest.map_err(|source| ContentError::Read { name: wanted.clone(), source })?;
        check(&wanted, &hash.finalize())
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        if let Some((hash, _)) = &mut self.check {
            hash.update(&buffer[..read]);
        }
        Ok(read)
    }
}

/// Digests become file names and parts of addresses: only after this.
pub(crate) fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The name of the file that holds this blob or what was made of it.
pub(crate) fn file_name(digest: &str) -> Result<String, ContentError> {
    if is_digest(digest) {
        Ok(digest.replace(':', "-"))
    } else {
        Err(ContentError::Digest(digest.to_owned()))
    }
}

pub(crate) fn json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, ContentError> {
    serde_json::from_slice(bytes).map_err(|source| ContentError::Json { name: name.to_owned(), source })
}

pub(crate) fn check(wanted: &str, hash: &[u8]) -> Result<(), ContentError> {
    let found = hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    if found == wanted { Ok(()) } else { Err(ContentError::Damaged { wanted: wanted.to_owned(), found }) }
}

/// The build matters only where images have one.
fn this_host(os: &str, architecture: &str) -> Host {
    let host = Host::new(os, architecture);
    let build = (os == "windows").then(|| os::host::facts().ok()?.windows_build).flatten();
    build.map_or_else(|| host.clone(), |build| host.clone().with_version(&build.to_string()))
}

fn mismatch(os: &str, architecture: &str, offers: String) -> ContentError {
    let host = Box::new(Host::new(os, architecture));
    NoMatch { host, isolation: Isolation::HostProcess, offers }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_checked_before_they_become_names() {
        for bad in
            ["", "sha256:", "md5:00", "sha256:../../../../etc/passwd", &format!("sha256:{}", "A".repeat(64))]
        {
            assert!(matches!(file_name(bad), Err(ContentError::Digest(_))), "{bad}");
        }
        let good = format!("sha256:{}", "0f".repeat(32));
        assert_eq!(file_name(&good).unwrap(), format!("sha256-{}", "0f".repeat(32)));
    }
}
