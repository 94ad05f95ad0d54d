//! Images on disk: the OCI image layout as a directory or a tar file, and Docker's older archive.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::{Image, descriptor, digest, layer};

const MARKER: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

// === impl Image ===

impl Image {
    /// Writes an OCI image layout into `dir`, which is made if need be.
    pub fn write_oci_dir(&self, dir: impl AsRef<Path>) -> Result<()> {
        let dir = dir.as_ref();
        for (name, bytes) in self.members() {
            let path = dir.join(name);
            let parent = path.parent().unwrap_or(dir);
            fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
            fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))?;
        }
        Ok(())
    }

    /// Writes an OCI image layout as a tar file.
    pub fn write_oci_archive(&self, path: impl AsRef<Path>) -> Result<()> {
        write_tar(path.as_ref(), &self.members())
    }

    fn members(&self) -> Vec<(String, Vec<u8>)> {
        let documents = self.documents().iter().map(|document| (&document.digest, &document.bytes));
        let mut members: Vec<_> = documents
            .chain(self.blobs())
            .map(|(digest, bytes)| (blob_path(digest), bytes.to_vec()))
            .collect();
        members.push(("oci-layout".into(), MARKER.into()));
        members.push(("index.json".into(), self.top().into()));
        members.sort();
        members.dedup();
        members
    }

    fn top(&self) -> String {
        let root = self.root();
        let mut entry = descriptor(root.media_type, &root.bytes);
        if let Some(platform) = &self.platform {
            entry["platform"] = platform.clone();
        }
        if let Some(reference) = &self.reference {
            // Docker, containerd and skopeo disagree on which of the two holds the whole name.
            entry["annotations"] = json!({
                "io.containerd.image.name": reference,
                "org.opencontainers.image.ref.name": reference,
            });
        }
        json!({"schemaVersion": 2, "manifests": [entry]}).to_string()
    }
}

/// Layers are not compressed in there.
pub(super) fn write_docker_archive(
    path: &Path,
    config: &[u8],
    tars: &[Vec<u8>],
    reference: Option<&str>,
) -> Result<()> {
    let hex = |bytes: &[u8]| digest(bytes).replace("sha256:", "");
    let layers: Vec<_> = tars.iter().map(|tar| format!("{}.tar", hex(tar))).collect();
    let name = format!("{}.json", hex(config));
    let manifest = json!([{"Config": name, "Layers": layers, "RepoTags": reference.as_slice()}]);
    let mut members: Vec<_> = layers.into_iter().zip(tars.iter().cloned()).collect();
    members.push((name, config.to_vec()));
    members.push(("manifest.json".into(), manifest.to_string().into()));
    members.sort();
    members.dedup();
    write_tar(path, &members)
}

fn write_tar(path: &Path, members: &[(String, Vec<u8>)]) -> Result<()> {
    let file = File::create(path).with_context(|| format!("create {}", path.display()))?;
    let mut tar = tar::Builder::new(BufWriter::new(file));
    for (name, bytes) in members {
        layer::append_member(&mut tar, name, bytes)
            .with_context(|| format!("write {name} to {}", path.display()))?;
    }
    let written = tar.into_inner().and_then(|buffer| Ok(buffer.into_inner()?));
    written.map(drop).with_context(|| format!("write {}", path.display()))
}

fn blob_path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}
