//! Docker's archive: `manifest.json` lists images, each a configuration and plain layers.
//!
//! Until version 25 Docker named members after ids of its own (`ID/layer.tar`), since then after digests
//! (`blobs/sha256/…`); skopeo writes `DIGEST.tar`. The list says which, so all are read alike. Docker since 25 adds
//! an OCI layout to the same file, and then that is read instead: it has the media types too.

use serde::{Deserialize, Serialize};

use super::TransferError;
use super::layout::{CONFIG_TYPE, Entry, MANIFEST_TYPE};
use super::package::Package;
use crate::digest::Digest;
use crate::reference::Reference;
use crate::unpack::Compression;

pub(super) const MANIFEST: &str = "manifest.json";

/// An image of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Listed {
    /// The member that is the configuration.
    pub(super) config: String,
    /// Docker writes `null` for an image without a name.
    #[serde(default)]
    pub(super) repo_tags: Option<Vec<String>>,
    /// The members that are layers, the lowest first.
    pub(super) layers: Vec<String>,
}

/// The part of a configuration that says which layers belong to it.
#[derive(Debug, Deserialize)]
pub(super) struct Layered {
    rootfs: RootFs,
}

#[derive(Debug, Deserialize)]
struct RootFs {
    #[serde(default)]
    diff_ids: Vec<String>,
}

/// The manifest that such an image has nowhere: made here, and always the same for the same image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    schema_version: u32,
    media_type: &'static str,
    config: Entry,
    layers: Vec<Entry>,
}

// === impl Listed ===

impl Listed {
    pub(super) fn all(package: &Package) -> Result<Vec<Listed>, TransferError> {
        Ok(crate::blobs::json(MANIFEST, &package.document(MANIFEST)?)?)
    }

    pub(super) fn names(&self, what: &str) -> Result<Vec<Reference>, TransferError> {
        let name = |text: &String| {
            Reference::parse(text).map_err(|source| TransferError::Name { what: what.to_owned(), source })
        };
        self.repo_tags.iter().flatten().map(name).collect()
    }

    /// The diff id of each layer, as the configuration has them.
    pub(super) fn diff_ids(&self, config: &[u8], what: &str) -> Result<Vec<Digest>, TransferError> {
        let layered: Layered = crate::blobs::json(&self.config, config)?;
        let ids = layered.rootfs.diff_ids;
        if ids.len() != self.layers.len() {
            let (config, layers) = (self.config.clone(), self.layers.len());
            return Err(TransferError::Layers { what: what.to_owned(), config, layers, ids: ids.len() });
        }
        ids.iter().map(|id| Ok(Digest::parse(id)?)).collect()
    }
}

// === impl Manifest ===

impl Manifest {
    pub(super) fn new(config: &[u8], layers: Vec<Entry>) -> Manifest {
        let digest = Digest::of(config).as_str().to_owned();
        let config = Entry::new(CONFIG_TYPE, digest, config.len() as u64);
        Manifest { schema_version: 2, media_type: MANIFEST_TYPE, config, layers }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("documents have text keys")
    }
}

/// The media type of a layer by what it is packed with.
pub(super) fn layer_type(packed: Compression) -> &'static str {
    match packed {
        Compression::None => "application/vnd.oci.image.layer.v1.tar",
        Compression::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        Compression::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_as_docker_and_skopeo_write_it() {
        let old = r#"[{"Config":"aa.json","RepoTags":["busybox:1","other.example/b:2"],"Layers":["id/layer.tar"]},
            {"Config":"bb.json","RepoTags":null,"Layers":[]},
            {"Config":"blobs/sha256/cc","Layers":["blobs/sha256/dd"],"LayerSources":{"sha256:dd":{"size":1}}}]"#;
        let listed: Vec<Listed> = serde_json::from_str(old).unwrap();
        let names: Vec<_> = listed[0].names("x").unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["docker.io/library/busybox:1", "other.example/b:2"]);
        assert!(listed[1].names("x").unwrap().is_empty() && listed[2].names("x").unwrap().is_empty());
        let bad = Listed { repo_tags: Some(vec!["Bad Name".into()]), ..listed[1].clone() };
        assert!(matches!(bad.names("x.tar"), Err(TransferError::Name { what, .. }) if what == "x.tar"));
    }

    #[test]
    fn layers_and_diff_ids_must_be_as_many() {
        let listed = Listed { config: "c".into(), repo_tags: None, layers: vec!["a".into(), "b".into()] };
        let error = listed.diff_ids(br#"{"rootfs":{"diff_ids":[]}}"#, "x.tar").unwrap_err().to_string();
        assert_eq!(error, "image c in x.tar has 2 layers and 0 diff_ids: wanted one for each");
        assert!(listed.diff_ids(b"{}", "x.tar").is_err());
        let ids = format!(r#"{{"rootfs":{{"diff_ids":["sha256:{0}","sha256:{0}"]}}}}"#, "0".repeat(64));
        assert_eq!(listed.diff_ids(ids.as_bytes(), "x.tar").unwrap().len(), 2);
        let wrong = r#"{"rootfs":{"diff_ids":["md5:1","md5:2"]}}"#;
        assert!(listed.diff_ids(wrong.as_bytes(), "x.tar").is_err());
    }
}
