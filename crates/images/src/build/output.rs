//! What a build leaves: blobs, the document that leads to them, and the archive of both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::layer::Written;
use super::patient::Patient;
use super::{BuildError, text_of};
use crate::document::{Descriptor, Platform};
use crate::progress::Caller;
use crate::reference::Reference;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MARKER: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// A layer by its descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Layer {
    #[serde(flatten)]
    entry: Entry,
}

/// A descriptor, in the order in which it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<Platform>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u32,
    media_type: &'static str,
    config: Entry,
    layers: &'a [Layer],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u32,
    media_type: &'static str,
    manifests: &'a [Entry],
}

/// A built image: files in a directory of blobs, each named after its digest.
#[derive(Debug)]
pub struct Built {
    blobs: PathBuf,
    /// The digests that the root leads to: stages leave others behind.
    used: BTreeSet<String>,
    root: Entry,
    /// What the user should know, though it is built.
    pub warnings: Vec<String>,
    /// One for each manifest.
    pub platforms: Vec<Platform>,
}

// === impl Layer ===

impl Layer {
    pub(super) fn of(written: &Written) -> Layer {
        Layer { entry: Entry::new(LAYER, written.digest.clone(), written.size) }
    }

    /// One of a base, as it was there.
    pub(super) fn taken(found: &Descriptor, size: u64) -> Layer {
        let kind = found.media_type.as_deref().unwrap_or(LAYER);
        // Docker's names of the same things: one manifest must not mix them.
        let kind = match kind {
            "application/vnd.docker.image.rootfs.diff.tar.gzip" => LAYER,
            "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" => {
                "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
            }
            other => other,
        };
        let mut entry = Entry::new(kind, found.digest.clone(), size);
        entry.urls.clone_from(&found.urls);
        Layer { entry }
    }

    pub(super) fn digest(&self) -> &str {
        &self.entry.digest
    }
}

// === impl Entry ===

impl Entry {
    fn new(kind: &str, digest: String, size: u64) -> Entry {
        let (urls, annotations) = (Vec::new(), BTreeMap::new());
        Entry { media_type: kind.to_owned(), digest, size, urls, platform: None, annotations }
    }
}

/// Writes configuration and manifest of one image.
pub(super) fn manifest(
    blobs: &Path,
    config: &[u8],
    layers: &[Layer],
    platform: Platform,
    used: &mut BTreeSet<String>,
) -> Result<Entry, BuildError> {
    let config = put(blobs, CONFIG, config)?;
    used.insert(config.digest.clone());
    used.extend(layers.iter().map(|layer| layer.entry.digest.clone()));
    let manifest = Manifest { schema_version: 2, media_type: MANIFEST, config, layers };
    let mut entry = put(blobs, MANIFEST, &bytes(&manifest))?;
    used.insert(entry.digest.clone());
    entry.platform = Some(platform);
    Ok(entry)
}

fn put(blobs: &Path, kind: &str, bytes: &[u8]) -> Result<Entry, BuildError> {
    let digest = text_of(&Sha256::digest(bytes));
    let path = blobs.join(digest.trim_start_matches("sha256:"));
    std::fs::write(&path, bytes).map_err(|source| BuildError::Write { path, source })?;
    Ok(Entry::new(kind, digest, bytes.len() as u64))
}

fn bytes(document: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(document).expect("documents have text keys")
}

// === impl Built ===

impl Built {
    /// One manifest is the root itself; several get an index.
    pub(super) fn new(
        blobs: PathBuf,
        mut used: BTreeSet<String>,
        mut manifests: Vec<Entry>,
        warnings: Vec<String>,
    ) -> Result<Built, BuildError> {
        let platforms = manifests.iter().filter_map(|entry| entry.platform.clone()).collect();
        let root = if manifests.len() == 1 {
            manifests.remove(0)
        } else {
            put(
                &blobs,
                INDEX,
                &bytes(&Index { schema_version: 2, media_type: INDEX, manifests: &manifests }),
            )?
        };
        used.insert(root.digest.clone());
        Ok(Built { blobs, used, root, warnings, platforms })
    }

    /// The digest by which a registry would know it.
    pub fn digest(&self) -> &str {
        &self.root.digest
    }

    /// Bytes of all blobs.
    pub fn size(&self) -> io::Result<u64> {
        self.names().map(|name| Ok(self.blobs.join(name).metadata()?.len())).sum()
    }

    /// Writes an OCI archive. It has the file's name only when it is complete.
    pub fn write_archive(&self, path: &Path, name: Option<&Reference>, caller: Caller<'_>) -> io::Result<()> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let written = self.pack(&unfinished, name, caller).and_then(|()| os::file::rename(&unfinished, path));
        if written.is_err() {
            // The error that led here is the one to tell.
            drop(std::fs::remove_file(&unfinished));
        }
        written
    }

    fn pack(&self, path: &Path, name: Option<&Reference>, caller: Caller<'_>) -> io::Result<()> {
        let mut tar = tar::Builder::new(BufWriter::new(File::create(path)?));
        for blob in self.names() {
            let file = File::open(self.blobs.join(blob))?;
            let size = file.metadata()?.len();
            member(&mut tar, &format!("blobs/sha256/{blob}"), size, Patient { from: file, caller })?;
        }
        let mut root = self.root.clone();
        if let Some(name) = name {
            // As buildx writes them: the tag for tools of the layout, the whole name for containerd.
            root.annotations.insert("io.containerd.image.name", name.to_string());
            if let Some(tag) = name.tag() {
                root.annotations.insert("org.opencontainers.image.ref.name", tag.to_owned());
            }
        }
        let index = bytes(&Index { schema_version: 2, media_type: INDEX, manifests: &[root] });
        member(&mut tar, "index.json", index.len() as u64, index.as_slice())?;
        member(&mut tar, "oci-layout", MARKER.len() as u64, MARKER)?;
        tar.into_inner()?.flush()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.used.iter().map(|digest| digest.trim_start_matches("sha256:"))
    }
}

fn member<W: Write>(tar: &mut tar::Builder<W>, name: &str, size: u64, from: impl io::Read) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, name, from)
}
