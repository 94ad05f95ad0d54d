//! What a push has to send, in order: read from the store, before anything is asked of the registry.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Deserialize;

use super::PushError;
use crate::blobs::{ContentError, DEEPEST_INDEX, json};
use crate::content::{Content, DepotError};
use crate::digest::Digest;
use crate::document::{Descriptor, Document};
use crate::reference::Reference;

/// Everything that a name leads to.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) blobs: Vec<Blob>,
    /// Indexes and manifests, each after those it names.
    pub(super) papers: Vec<Paper>,
}

/// A configuration or a layer.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) digest: Digest,
    pub(super) size: Option<u64>,
    /// The manifest that names it.
    pub(super) of: Digest,
    /// A repository of the same registry that had it once.
    pub(super) mount: Option<String>,
}

/// An index or a manifest.
#[derive(Debug)]
pub(super) struct Paper {
    pub(super) digest: Digest,
    /// None if the store does not have it: an index names images for other hosts too.
    pub(super) bytes: Option<Bytes>,
    pub(super) media_type: String,
    pub(super) is_root: bool,
    of: Digest,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "mediaType")]
    media_type: Option<String>,
}

/// Which repository of a registry has which blob.
type Sources = BTreeMap<Digest, String>;

const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

// === impl Plan ===

impl Plan {
    pub(super) fn make(content: &Content, root: &Descriptor, to: &Reference) -> Result<Plan, PushError> {
        let mut plan = Plan::default();
        let sources = sources(content, to)?;
        plan.add(content, root, None, &sources, 0)?;
        Ok(plan)
    }

    fn add(
        &mut self,
        content: &Content,
        descriptor: &Descriptor,
        of: Option<&Digest>,
        sources: &Sources,
        depth: usize,
    ) -> Result<(), PushError> {
        let digest = Digest::parse(&descriptor.digest)?;
        if depth > DEEPEST_INDEX {
            return Err(ContentError::TooDeep.into());
        }
        if self.papers.iter().any(|paper| paper.digest == digest) {
            return Ok(());
        }
        let bytes = content.document(&digest)?;
        let mut media_type = descriptor.media_type.clone();
        if let Some(bytes) = &bytes {
            let document: Document = json(digest.as_str(), bytes)?;
            media_type = Some(kind(bytes, media_type, &document));
            match document {
                Document::Manifest(manifest) => {
                    let parts = std::iter::once(&manifest.config).chain(&manifest.layers);
                    parts
                        .filter(|part| !is_foreign(part))
                        .try_for_each(|part| self.blob(part, &digest, sources))?;
                }
                Document::Index(index) => {
                    for entry in &index.manifests {
                        self.add(content, entry, Some(&digest), sources, depth + 1)?;
                    }
                }
            }
        }
        let of = of.unwrap_or(&digest).clone();
        let (bytes, is_root) = (bytes.map(Bytes::from), depth == 0);
        self.papers.push(Paper { digest, bytes, media_type: media_type.unwrap_or_default(), is_root, of });
        Ok(())
    }

    fn blob(&mut self, part: &Descriptor, of: &Digest, sources: &Sources) -> Result<(), PushError> {
        let digest = Digest::parse(&part.digest)?;
        if self.blobs.iter().all(|blob| blob.digest != digest) {
            let mount = sources.get(&digest).cloned();
            self.blobs.push(Blob { digest, size: part.size, of: of.clone(), mount });
        }
        Ok(())
    }

    pub(super) fn digests(&self) -> Vec<Digest> {
        let papers = self.papers.iter().map(|paper| &paper.digest);
        self.blobs.iter().map(|blob| &blob.digest).chain(papers).cloned().collect()
    }

    /// The repositories from which something may be mounted.
    pub(super) fn sources(&self) -> Vec<String> {
        let mut all: Vec<_> = self.blobs.iter().filter_map(|blob| blob.mount.clone()).collect();
        all.sort();
        all.dedup();
        all
    }
}

// === impl Blob ===

impl Blob {
    pub(super) fn missing(&self) -> PushError {
        PushError::Missing { digest: self.digest.to_string(), of: self.of.to_string() }
    }
}

// === impl Paper ===

impl Paper {
    pub(super) fn missing(&self) -> PushError {
        PushError::Missing { digest: self.digest.to_string(), of: self.of.to_string() }
    }
}

/// What the document says of itself, else its descriptor, else what it looks like.
fn kind(bytes: &[u8], described: Option<String>, document: &Document) -> String {
    let typed = serde_json::from_slice::<Typed>(bytes).ok().and_then(|typed| typed.media_type);
    let looks = if matches!(document, Document::Index(_)) { OCI_INDEX } else { OCI_MANIFEST };
    typed.or(described).unwrap_or_else(|| looks.to_owned())
}

/// Layers that may not be handed out, by Docker's and by OCI's name for them.
fn is_foreign(part: &Descriptor) -> bool {
    let kind = part.media_type.as_deref().unwrap_or_default();
    !part.urls.is_empty() && (kind.contains(".foreign.") || kind.contains(".nondistributable."))
}

/// What was pulled from other repositories of this registry is still there, more often than not.
fn sources(content: &Content, to: &Reference) -> Result<Sources, DepotError> {
    let mut sources = Sources::new();
    for (name, named) in content.names().all()? {
        let Ok(from) = Reference::parse(&name) else { continue };
        if from.registry() != to.registry() || from.repository() == to.repository() {
            continue;
        }
        if let Some(record) = content.record(&named.id)? {
            for digest in record.digests() {
                sources.entry(digest).or_insert_with(|| from.repository().to_owned());
            }
        }
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(content: &Content, document: &serde_json::Value) -> Descriptor {
        let digest = content.put(document.to_string().as_bytes()).unwrap();
        serde_json::from_value(json!({"digest": digest})).unwrap()
    }

    fn world() -> (tempfile::TempDir, Content) {
        let dir = tempfile::tempdir().unwrap();
        let content = Content::open(dir.path()).unwrap();
        (dir, content)
    }

    fn plan(content: &Content, root: &Descriptor) -> Result<Plan, PushError> {
        Plan::make(content, root, &Reference::parse("example.com/app:1").unwrap())
    }

    #[test]
    fn parts_come_before_what_names_them_and_once() {
        let (_dir, content) = world();
        let [config, layer, foreign, gone] = [1, 2, 3, 4].map(|number: u8| Digest::of(&[number]));
        let kind = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
        let foreign = json!({"digest": foreign, "mediaType": kind, "urls": ["https://x/y"]});
        let manifest = put(
            &content,
            &json!({"config": {"digest": config},
            "layers": [{"digest": layer}, {"digest": layer}, foreign]}),
        );
        let entries = json!([{"digest": manifest.digest}, {"digest": gone, "mediaType": "m"}, {"digest": manifest.digest}]);
        let index = put(&content, &json!({"manifests": entries}));
        let plan = plan(&content, &index).unwrap();
        assert_eq!(plan.blobs.iter().map(|blob| &blob.digest).collect::<Vec<_>>(), [&config, &layer]);
        let papers: Vec<_> =
            plan.papers.iter().map(|p| (p.digest.as_str(), p.bytes.is_some(), p.is_root)).collect();
        let wanted = [
            (manifest.digest.as_str(), true, false),
            (gone.as_str(), false, false),
            (&index.digest, true, true),
        ];
        assert_eq!(papers, wanted);
        assert_eq!(
            (plan.papers[0].media_type.as_str(), plan.papers[1].media_type.as_str()),
            (OCI_MANIFEST, "m")
        );
        assert!(plan.papers[1].missing().to_string().contains(&index.digest));
    }

    #[test]
    fn what_is_no_image_is_not_begun() {
        let (_dir, content) = world();
        let root = put(&content, &json!({"schemaVersion": 1}));
        assert!(matches!(plan(&content, &root), Err(PushError::Content(ContentError::Json { .. }))));
    }
}
