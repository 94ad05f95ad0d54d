//! The OCI layout's list of images: `index.json`.
//!
//! Writers disagree on where an image's name stands, and on whether the entries are several images or one image's
//! platforms. Both are settled here, from the documents alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::document::{Descriptor, Platform};
use crate::reference::Reference;

pub(super) const INDEX: &str = "index.json";
pub(super) const MARKER: &str = "oci-layout";
pub(super) const VERSION: &str = "1.0.0";
pub(super) const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
pub(super) const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
/// The whole name, as containerd, Docker and buildx write it.
const WHOLE_NAME: &str = "io.containerd.image.name";
/// The tag, or (skopeo) the whole name.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// `index.json`, and every index made here.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Index {
    pub(super) schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    pub(super) manifests: Vec<Entry>,
}

/// A descriptor with everything that its writer said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) annotations: BTreeMap<String, String>,
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
}

/// One image of the list: a name and what it leads to, which is an index of its own if there are several entries.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: Option<Reference>,
    pub(super) entries: Vec<Entry>,
}

// === impl Index ===

impl Index {
    pub(super) fn of(manifests: Vec<Entry>) -> Index {
        Index { schema_version: 2, media_type: Some(INDEX_TYPE.to_owned()), manifests }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("documents have text keys")
    }

    /// The images: entries of one name are the platforms of one image.
    pub(super) fn images(self) -> Vec<Listed> {
        let mut listed: Vec<Listed> = Vec::new();
        for entry in self.manifests {
            let name = entry.name();
            match listed.iter_mut().find(|image| image.takes(name.as_ref(), &entry)) {
                Some(image) => image.entries.push(entry),
                None => listed.push(Listed { name, entries: vec![entry] }),
            }
        }
        listed
    }
}

// === impl Entry ===

impl Entry {
    pub(super) fn new(media_type: &str, digest: String, size: u64) -> Entry {
        let media_type = Some(media_type.to_owned());
        Entry { media_type, digest, size, platform: None, annotations: BTreeMap::new(), rest: Map::new() }
    }

    /// With its name in both places, so that every tool finds it.
    pub(super) fn named(mut self, name: Option<&Reference>) -> Entry {
        if let Some(name) = name {
            self.annotations.insert(WHOLE_NAME.to_owned(), name.to_string());
            if let Some(tag) = name.tag() {
                self.annotations.insert(REF_NAME.to_owned(), tag.to_owned());
            }
        }
        self
    }

    /// A bare tag is no name: of which repository?
    fn name(&self) -> Option<Reference> {
        let whole = self.annotations.get(WHOLE_NAME);
        let short = self.annotations.get(REF_NAME).filter(|text| text.contains(['/', ':']));
        whole.into_iter().chain(short).find_map(|text| Reference::parse(text).ok())
    }

    /// A name leads to one image; an image without one is listed once.
    pub(super) fn is_replaced_by(&self, other: &Entry) -> bool {
        match (self.name(), other.name()) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => self.digest == other.digest,
            _ => false,
        }
    }

    pub(super) fn descriptor(&self) -> Descriptor {
        Descriptor {
            digest: self.digest.clone(),
            size: Some(self.size),
            platform: self.platform.clone(),
            media_type: self.media_type.clone(),
            urls: Vec::new(),
        }
    }

    fn without_name(mut self) -> Entry {
        self.annotations.remove(WHOLE_NAME);
        self.annotations.remove(REF_NAME);
        self
    }
}

// === impl Listed ===

impl Listed {
    fn takes(&self, name: Option<&Reference>, entry: &Entry) -> bool {
        let other = |mine: &Entry| mine.platform.is_some() && mine.platform != entry.platform;
        self.name.as_ref() == name && entry.platform.is_some() && self.entries.iter().all(other)
    }

    /// What the name leads to; the bytes of an index that has to be made for it.
    pub(super) fn root(mut self) -> (Entry, Option<Vec<u8>>) {
        if self.entries.len() == 1 {
            return (self.entries.remove(0).without_name(), None);
        }
        let index = Index::of(self.entries.into_iter().map(Entry::without_name).collect()).bytes();
        let digest = crate::digest::Digest::of(&index);
        (Entry::new(INDEX_TYPE, digest.as_str().to_owned(), index.len() as u64), Some(index))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(number: u32, os: Option<&str>, annotations: Value) -> Value {
        let mut entry = json!({"mediaType": MANIFEST_TYPE, "digest": format!("sha256:{number:064}"), "size": 7,
            "annotations": annotations, "artifactType": "x"});
        if let Some(os) = os {
            entry["platform"] = json!({"os": os, "architecture": "amd64"});
        }
        entry
    }

    fn images(entries: &[Value]) -> Vec<(Option<String>, usize)> {
        let index: Index = serde_json::from_value(json!({"schemaVersion": 2, "manifests": entries})).unwrap();
        index
            .images()
            .iter()
            .map(|each| (each.name.as_ref().map(ToString::to_string), each.entries.len()))
            .collect()
    }

    #[test]
    fn names_stand_in_one_of_two_places() {
        let whole = "docker.io/library/app:1".to_owned();
        for (annotations, expected) in [
            (json!({WHOLE_NAME: "docker.io/library/app:1", REF_NAME: "1"}), Some(&whole)),
            (json!({REF_NAME: "app:1"}), Some(&whole)),
            (json!({REF_NAME: "docker.io/library/app:1"}), Some(&whole)),
            (json!({REF_NAME: "1"}), None),
            (json!({REF_NAME: "Not:A Name"}), None),
            (json!({}), None),
        ] {
            assert_eq!(images(&[entry(1, None, annotations)]), [(expected.cloned(), 1)]);
        }
    }

    #[test]
    fn entries_of_one_name_are_one_images_platforms() {
        let name = json!({WHOLE_NAME: "app:1"});
        let two = [entry(1, Some("linux"), name.clone()), entry(2, Some("windows"), name.clone())];
        assert_eq!(images(&two), [(Some("docker.io/library/app:1".into()), 2)]);
        let unnamed = [entry(1, Some("linux"), json!({})), entry(2, Some("windows"), json!({}))];
        assert_eq!(images(&unnamed), [(None, 2)]);
        // Twice the same platform, or none said: two images.
        let twice = [entry(1, Some("linux"), json!({})), entry(2, Some("linux"), json!({}))];
        assert_eq!(images(&twice), [(None, 1), (None, 1)]);
        assert_eq!(images(&[entry(1, None, name.clone()), entry(2, None, name)]).len(), 2);
    }

    #[test]
    fn an_index_that_is_made_keeps_what_its_entries_say_but_their_name() {
        let name = json!({WHOLE_NAME: "app:1", REF_NAME: "1", "mine": "kept"});
        let entries = [entry(1, Some("linux"), name.clone()), entry(2, Some("windows"), name)];
        let index: Index = serde_json::from_value(json!({"schemaVersion": 2, "manifests": entries})).unwrap();
        let (root, bytes) = index.images().remove(0).root();
        let bytes = bytes.expect("made");
        assert_eq!(
            (root.digest, root.size),
            (crate::digest::Digest::of(&bytes).as_str().to_owned(), bytes.len() as u64)
        );
        let made: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(made["manifests"][1]["annotations"], json!({"mine": "kept"}));
        assert_eq!(made["manifests"][1]["artifactType"], "x");
        assert_eq!(made["manifests"][0]["platform"]["os"], "linux");
    }
}
