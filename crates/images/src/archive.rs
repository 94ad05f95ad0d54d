//! OCI archives: a tar file that holds an image layout (`index.json`, `blobs/sha256/…`).
//!
//! Opened once, indexed by name, then read in place: an archive is never unpacked to find out what is in it.
//! Every blob is checked against its digest while it is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::Path;

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::document::{Configuration, Descriptor, Index, Manifest};

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_LIST_TYPE: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Index, manifest and configuration are small; a large one is not one.
const LONGEST_DOCUMENT: u64 = 8 << 20;
/// How deep an index may point to an index.
const DEEPEST_INDEX: usize = 4;

#[derive(Debug)]
pub struct Archive {
    file: File,
    members: BTreeMap<String, Member>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    start: u64,
    size: u64,
}

/// The image of an archive that fits this host.
#[derive(Debug)]
pub struct Chosen {
    /// The digest of the configuration: the image's identity.
    pub id: String,
    pub configuration: Configuration,
    pub layers: Vec<Descriptor>,
}

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("not a readable tar file")]
    Tar(#[source] io::Error),
    #[error("not an OCI archive: {0} is missing (`docker save` of an older Docker writes another format)")]
    Missing(String),
    #[error("{name} has {size} bytes, more than the {LONGEST_DOCUMENT} a document may have")]
    TooLarge { name: String, size: u64 },
    #[error("{name} is not the JSON it should be")]
    Json { name: String, source: serde_json::Error },
    #[error("{0:?} is not a sha256 digest")]
    Digest(String),
    #[error("blob {wanted} has the digest {found}: the archive is damaged")]
    Damaged { wanted: String, found: String },
    #[error("no image for {os}/{architecture}: the archive offers {offers}")]
    Platform { os: String, architecture: String, offers: String },
    #[error("the index points to indexes more than {DEEPEST_INDEX} deep")]
    TooDeep,
}

// === impl Archive ===

impl Archive {
    pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
        let mut tar = tar::Archive::new(File::open(path).map_err(ArchiveError::Tar)?);
        let mut members = BTreeMap::new();
        for entry in tar.entries_with_seek().map_err(ArchiveError::Tar)? {
            let entry = entry.map_err(ArchiveError::Tar)?;
            if entry.header().entry_type().is_file() {
                let name = String::from_utf8_lossy(&entry.path_bytes()).trim_start_matches("./").to_owned();
                members.insert(name, Member { start: entry.raw_file_position(), size: entry.size() });
            }
        }
        Ok(Archive { file: tar.into_inner(), members })
    }

    /// The image for this platform.
    pub fn choose(&self, os: &str, architecture: &str) -> Result<Chosen, ArchiveError> {
        let mut index: Index = self.json("index.json", &self.document("index.json")?)?;
        for _ in 0..DEEPEST_INDEX {
            let picked =
                index.pick(os, architecture).ok_or_else(|| mismatch(os, architecture, index.offers()))?;
            if ![INDEX_TYPE, MANIFEST_LIST_TYPE].contains(&picked.media_type.as_str()) {
                return self.image(picked, os, architecture);
            }
            index = self.blob_json(&picked.digest)?;
        }
        Err(ArchiveError::TooDeep)
    }

    fn image(&self, picked: &Descriptor, os: &str, architecture: &str) -> Result<Chosen, ArchiveError> {
        let manifest: Manifest = self.blob_json(&picked.digest)?;
        let configuration: Configuration = self.blob_json(&manifest.config.digest)?;
        // An entry without a platform fits any host; the configuration always says what the image is for.
        let platform = &configuration.platform;
        if platform.os != os || platform.architecture != architecture {
            return Err(mismatch(os, architecture, platform.to_string()));
        }
        Ok(Chosen { id: manifest.config.digest, configuration, layers: manifest.layers })
    }

    /// A blob as a stream, to be checked with [`Checked::finish`] when it was read.
    pub fn blob(&self, digest: &str) -> Result<Checked, ArchiveError> {
        let member = self.member(&blob_name(digest)?)?;
        let mut file = self.file.try_clone().map_err(ArchiveError::Tar)?;
        file.seek(SeekFrom::Start(member.start)).map_err(ArchiveError::Tar)?;
        Ok(Checked { from: file.take(member.size), hash: Sha256::new(), wanted: digest.to_owned() })
    }

    fn blob_json<T: DeserializeOwned>(&self, digest: &str) -> Result<T, ArchiveError> {
        let name = blob_name(digest)?;
        let bytes = self.document(&name)?;
        check(digest, &Sha256::digest(&bytes))?;
        self.json(&name, &bytes)
    }

    fn document(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let member = self.member(name)?;
        if member.size > LONGEST_DOCUMENT {
            return Err(ArchiveError::TooLarge { name: name.to_owned(), size: member.size });
        }
        let mut bytes = Vec::new();
        (&self.file).seek(SeekFrom::Start(member.start)).map_err(ArchiveError::Tar)?;
        (&self.file).take(member.size).read_to_end(&mut bytes).map_err(ArchiveError::Tar)?;
        Ok(bytes)
    }

    fn json<T: DeserializeOwned>(&self, name: &str, bytes: &[u8]) -> Result<T, ArchiveError> {
        serde_json::from_slice(bytes).map_err(|source| ArchiveError::Json { name: name.to_owned(), source })
    }

    fn member(&self, name: &str) -> Result<Member, ArchiveError> {
        self.members.get(name).copied().ok_or_else(|| ArchiveError::Missing(name.to_owned()))
    }
}

fn mismatch(os: &str, architecture: &str, offers: String) -> ArchiveError {
    ArchiveError::Platform { os: os.to_owned(), architecture: architecture.to_owned(), offers }
}

fn blob_name(digest: &str) -> Result<String, ArchiveError> {
    let hex = digest.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return Err(ArchiveError::Digest(digest.to_owned()));
    }
    Ok(format!("blobs/sha256/{hex}"))
}

fn check(wanted: &str, hash: &[u8]) -> Result<(), ArchiveError> {
    let found = hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    if found == wanted { Ok(()) } else { Err(ArchiveError::Damaged { wanted: wanted.to_owned(), found }) }
}

/// A blob that is hashed while it is read.
#[derive(Debug)]
pub struct Checked {
    from: Take<File>,
    hash: Sha256,
    wanted: String,
}

// === impl Checked ===

impl Checked {
    /// Reads what is left and compares the digest. What was unpacked before this returns is not to be trusted.
    pub fn finish(mut self) -> Result<(), ArchiveError> {
        io::copy(&mut self, &mut io::sink()).map_err(ArchiveError::Tar)?;
        check(&self.wanted, &self.hash.finalize())
    }
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
