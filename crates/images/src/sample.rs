//! Small archives for the tests of this crate, right and wrong ones.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An OCI archive under construction.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) members: Vec<(String, Vec<u8>)>,
    manifests: Vec<Value>,
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// A tar file of these files.
pub(crate) fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, body) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, body.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap()
}

impl Sample {
    pub(crate) fn blob(&mut self, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        self.members.push((format!("blobs/{}", digest.replace(':', "/")), bytes.to_vec()));
        digest
    }

    /// Adds an image of one layer to the index.
    pub(crate) fn image(mut self, os: &str, files: &[(&str, &str)]) -> Sample {
        let layer = self.blob(&tar_of(files));
        let config = json!({"os": os, "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": [layer]},
            "config": {"Entrypoint": ["/app"], "Env": ["A=1"]}});
        let config = self.blob(config.to_string().as_bytes());
        let manifest = json!({"config": {"digest": config}, "layers": [{"digest": layer}]});
        let digest = self.blob(manifest.to_string().as_bytes());
        self.manifests.push(json!({"digest": digest, "platform": {"os": os, "architecture": "amd64"}}));
        self
    }

    /// Replaces the index by an index of that index.
    pub(crate) fn nested(mut self) -> Sample {
        let inner = json!({"manifests": self.manifests}).to_string();
        let digest = self.blob(inner.as_bytes());
        let kind = "application/vnd.oci.image.index.v1+json";
        self.manifests = vec![json!({"digest": digest, "mediaType": kind})];
        self
    }

    /// Changes one byte of the member that holds this text.
    pub(crate) fn damage(mut self, text: &str) -> Sample {
        let find = |body: &[u8]| body.windows(text.len()).position(|window| window == text.as_bytes());
        let (at, body) = self.members.iter_mut().find_map(|(_, body)| Some((find(body)?, body))).unwrap();
        body[at] ^= 1;
        self
    }

    pub(crate) fn write(mut self, path: &Path) {
        let index = json!({"schemaVersion": 2, "manifests": self.manifests}).to_string().into_bytes();
        self.members.push(("index.json".into(), index));
        let mut tar = tar::Builder::new(std::fs::File::create(path).unwrap());
        for (name, body) in &self.members {
            let mut header = tar::Header::new_gnu();
            header.set_size(body.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, body.as_slice()).unwrap();
        }
        tar.finish().unwrap();
    }
}
