//! Stores with images in them, for the tests of saving and loading.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::layout::{CONFIG_TYPE, INDEX_TYPE, MANIFEST_TYPE};
use super::{Chosen, Format, Imported, Package, Platforms, Saved, Target, TransferError, import, save};
use crate::content::Content;
use crate::digest::Digest;
use crate::platform::Host;
use crate::progress::Caller;
use crate::reference::Reference;
use crate::sample::tar_of;

pub(super) const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// A directory with a store and files in it.
pub(super) struct Desk {
    dir: tempfile::TempDir,
    pub(super) content: Content,
}

/// A made image.
pub(super) struct Made {
    pub(super) manifest: Digest,
    pub(super) config: Digest,
    pub(super) layer: Digest,
    pub(super) diff_id: Digest,
}

impl Desk {
    pub(super) fn new() -> Desk {
        let dir = tempfile::tempdir().unwrap();
        let content = Content::open(&dir.path().join("images")).unwrap();
        Desk { dir, content }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What is there, beside each other.
    pub(super) fn files(&self) -> Vec<String> {
        crate::content::tests::names(self.dir.path())
    }

    /// An image of one gzip layer with one file.
    pub(super) fn image(&self, os: &str, text: &str) -> Made {
        let tar = tar_of(&[("word", text)]);
        let layer = self.content.put(&gzip(&tar)).unwrap();
        let diff_id = Digest::of(&tar);
        let config = configuration(os, &diff_id);
        let config = self.content.put(config.as_bytes()).unwrap();
        let entry = |kind: &str, digest: &Digest| {
            let size = self.content.blob_size(digest).unwrap();
            json!({"mediaType": kind, "digest": digest.as_str(), "size": size})
        };
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE,
            "config": entry(CONFIG_TYPE, &config), "layers": [entry(GZIP, &layer)]});
        let manifest = self.content.put(manifest.to_string().as_bytes()).unwrap();
        Made { manifest, config, layer, diff_id }
    }

    /// An index of these manifests.
    pub(super) fn index(&self, images: &[(&str, &Digest)]) -> Digest {
        let entry = |(os, digest): &(&str, &Digest)| {
            let size = self.content.blob_size(digest).unwrap_or(7);
            let platform = json!({"os": os, "architecture": "amd64"});
            json!({"mediaType": MANIFEST_TYPE, "digest": digest.as_str(), "size": size, "platform": platform})
        };
        let manifests: Vec<Value> = images.iter().map(entry).collect();
        let index = json!({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests});
        self.content.put(index.to_string().as_bytes()).unwrap()
    }

    pub(super) fn save(
        &self,
        images: &[(&str, &Digest)],
        platforms: &Platforms,
        format: Format,
        name: &str,
    ) -> Result<Saved, TransferError> {
        let chosen: Vec<_> = images.iter().map(|(name, target)| chosen(name, target)).collect();
        let path = self.path(name);
        let target = if format == Format::OciDir { Target::Dir(&path) } else { Target::File(&path) };
        save(&self.content, &chosen, platforms, format, target, Caller::silent())
    }

    /// Loads a file of another desk.
    pub(super) fn load(&self, path: &std::path::Path) -> Result<Imported, TransferError> {
        let package = Package::open(path, self.dir.path())?;
        import(&package, &self.content, Caller::silent())
    }

    pub(super) fn load_tar(&self, members: &[(&str, &[u8])]) -> Result<Imported, TransferError> {
        let path = self.path("made.tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&path).unwrap());
        for (name, body) in members {
            let mut header = tar::Header::new_gnu();
            header.set_size(body.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, *body).unwrap();
        }
        tar.finish().unwrap();
        self.load(&path)
    }
}

pub(super) fn chosen(name: &str, target: &Digest) -> Chosen {
    let name = (!name.is_empty()).then(|| Reference::parse(name).unwrap());
    Chosen { name, target: target.clone() }
}

pub(super) fn linux() -> Platforms {
    Platforms::Of(Host::new("linux", "amd64"))
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

pub(super) fn configuration(os: &str, diff_id: &Digest) -> String {
    json!({"os": os, "architecture": "amd64", "config": {"Entrypoint": ["/app"]},
        "rootfs": {"type": "layers", "diff_ids": [diff_id.as_str()]}})
    .to_string()
}

pub(super) fn names(imported: &Imported) -> Vec<Vec<String>> {
    imported.images.iter().map(|image| image.names.iter().map(ToString::to_string).collect()).collect()
}
