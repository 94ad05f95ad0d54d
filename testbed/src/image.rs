//! Images made from files, without any container program: the same files always give the same digests.
//!
//! Tests have no public registry to pull from; [`busybox`], [`agnhost`], [`pause`] and [`windows_program`] are made
//! from what Debian, the Go module proxy and this workspace provide.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use layer::Layer;
use layer::Packed;
pub(crate) use ready::linux;
pub use ready::{agnhost, busybox, pause, windows_program};

mod layer;
mod layout;
mod ready;

pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// What an image is to be.
///
/// ```
/// use testbed::image::{ImageBuilder, Layer};
///
/// let greeting = Layer::new().file("etc/greeting", "hello", 0o644);
/// let image = ImageBuilder::new("linux", "amd64").layer(greeting).entrypoint(["/bin/greet"]).build()?;
/// assert!(image.digest().starts_with("sha256:"));
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct ImageBuilder {
    os: String,
    arch: String,
    os_version: Option<String>,
    reference: Option<String>,
    layers: Vec<Layer>,
    /// What the configuration says instead of the truth.
    diff_ids: Option<Vec<String>>,
    /// The `config` object of the image's configuration.
    config: BTreeMap<&'static str, Value>,
}

/// A made image, or an index of several: a root document and every blob that it leads to.
#[derive(Debug, Clone)]
pub struct Image {
    media_type: &'static str,
    digest: String,
    platform: Option<Value>,
    reference: Option<String>,
    /// Without the root, in no order that matters: digest to content.
    blobs: BTreeMap<String, Blob>,
    /// The root and, for an index, the manifests below it, leaves first: the order in which a registry takes them.
    documents: Vec<Document>,
}

/// The content of a blob, shared by all images that have it.
pub type Blob = Arc<[u8]>;

/// A manifest or an index.
#[derive(Debug, Clone)]
pub struct Document {
    pub media_type: &'static str,
    pub digest: String,
    pub bytes: Blob,
}

// === impl ImageBuilder ===

impl ImageBuilder {
    pub fn new(os: &str, arch: &str) -> Self {
        let (os, arch) = (os.to_owned(), arch.to_owned());
        let (layers, config) = (Vec::new(), BTreeMap::new());
        Self { os, arch, os_version: None, reference: None, layers, diff_ids: None, config }
    }

    #[must_use]
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    #[must_use]
    pub fn entrypoint<W: Into<String>>(self, words: impl IntoIterator<Item = W>) -> Self {
        self.list("Entrypoint", words)
    }

    #[must_use]
    pub fn cmd<W: Into<String>>(self, words: impl IntoIterator<Item = W>) -> Self {
        self.list("Cmd", words)
    }

    /// Adds `NAME=value`.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        let list = self.config.entry("Env").or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(format!("{name}={value}").into());
        }
        self
    }

    #[must_use]
    pub fn workdir(self, dir: &str) -> Self {
        self.set("WorkingDir", dir)
    }

    #[must_use]
    pub fn user(self, user: &str) -> Self {
        self.set("User", user)
    }

    /// The Windows build that the image is for, e.g. `10.0.20348.2031`.
    #[must_use]
    pub fn os_version(mut self, version: &str) -> Self {
        self.os_version = Some(version.to_owned());
        self
    }

    /// Lets the configuration name these as the digests of the decompressed layers.
    #[must_use]
    pub fn diff_ids(mut self, diff_ids: &[String]) -> Self {
        self.diff_ids = Some(diff_ids.to_vec());
        self
    }

    /// The name that archives carry, e.g. `registry.k8s.io/pause:3.10.2`.
    #[must_use]
    pub fn reference(mut self, reference: &str) -> Self {
        self.reference = Some(reference.to_owned());
        self
    }

    pub fn build(&self) -> Result<Image> {
        let packed = self.layers.iter().map(Layer::packed).collect::<Result<Vec<_>>>()?;
        let config = self.configuration(packed.iter().map(|layer| layer.diff_id.clone()).collect());
        let descriptor_of = |layer: &&Packed| {
            let size = layer.blob.len();
            json!({"mediaType": layer.media_type, "digest": layer.digest, "size": size})
        };
        let layers: Vec<_> = packed.iter().map(descriptor_of).collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, &config),
            "layers": layers,
        });
        let layers = packed.iter().map(|layer| (layer.digest.clone(), Arc::clone(&layer.blob)));
        let blobs = layers.chain([(digest(&config), config.into())]).collect();
        let document = Document::new(MANIFEST, &manifest);
        Ok(Image {
            media_type: MANIFEST,
            digest: document.digest.clone(),
            platform: Some(self.platform()),
            reference: self.reference.clone(),
            blobs,
            documents: vec![document],
        })
    }

    pub fn write_oci_dir(&self, dir: impl AsRef<Path>) -> Result<()> {
        self.build()?.write_oci_dir(dir)
    }

    pub fn write_oci_archive(&self, path: impl AsRef<Path>) -> Result<()> {
        self.build()?.write_oci_archive(path)
    }

    /// What `docker load` reads and `docker save` used to write.
    pub fn write_docker_archive(&self, path: impl AsRef<Path>) -> Result<()> {
        let tars = self.layers.iter().map(Layer::tar).collect::<Result<Vec<_>>>()?;
        let config = self.configuration(tars.iter().map(|tar| digest(tar)).collect());
        layout::write_docker_archive(path.as_ref(), &config, &tars, self.reference.as_deref())
    }

    fn list<W: Into<String>>(mut self, name: &'static str, words: impl IntoIterator<Item = W>) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        self.config.insert(name, words.into());
        self
    }

    fn set(mut self, name: &'static str, value: &str) -> Self {
        self.config.insert(name, value.into());
        self
    }

    fn configuration(&self, diff_ids: Vec<String>) -> Vec<u8> {
        let ids = self.diff_ids.clone().unwrap_or(diff_ids);
        let mut document = self.platform();
        document["created"] = "1970-01-01T00:00:00Z".into();
        document["config"] = json!(self.config);
        document["rootfs"] = json!({"type": "layers", "diff_ids": ids});
        document.to_string().into_bytes()
    }

    fn platform(&self) -> Value {
        let mut platform = json!({"architecture": self.arch, "os": self.os});
        if let Some(version) = &self.os_version {
            platform["os.version"] = version.as_str().into();
        }
        platform
    }
}

// === impl Image ===

impl Image {
    /// An index of images for several platforms, e.g. one for each Windows build.
    pub fn index(images: &[Self]) -> Self {
        let entry = |image: &Self| {
            let root = image.root();
            let mut entry = descriptor(root.media_type, &root.bytes);
            if let Some(platform) = &image.platform {
                entry["platform"] = platform.clone();
            }
            entry
        };
        let manifests: Vec<_> = images.iter().map(entry).collect();
        let root =
            Document::new(INDEX, &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}));
        Self {
            media_type: INDEX,
            digest: root.digest.clone(),
            platform: None,
            reference: None,
            blobs: images.iter().flat_map(|image| image.blobs.clone()).collect(),
            documents: images.iter().flat_map(|image| image.documents.clone()).chain([root]).collect(),
        }
    }

    /// The digest of the manifest or index.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn media_type(&self) -> &'static str {
        self.media_type
    }

    /// Configurations and layers.
    pub fn blobs(&self) -> &BTreeMap<String, Blob> {
        &self.blobs
    }

    /// Manifests and indexes, each after those that it names; the last is the root.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    fn root(&self) -> &Document {
        self.documents.last().expect("an image is made with its root")
    }
}

// === impl Document ===

impl Document {
    fn new(media_type: &'static str, value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        Self { media_type, digest: digest(&bytes), bytes: bytes.into() }
    }
}

/// `sha256:` and the hash, as images name their content.
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()})
}
