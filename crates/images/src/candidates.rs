//! What an image offers: every manifest that its name leads to, with its platform.

use sha2::{Digest, Sha256};

use crate::archive::{Archive, ArchiveError};
use crate::blobs::{Blobs, ContentError, DEEPEST_INDEX, check, json};
use crate::content::Content;
use crate::document::{Configuration, Descriptor, Document, Index, Manifest};
use crate::platform::Candidate;
use crate::progress::Caller;
use crate::reference::Reference;
use crate::registry::answer::PullError;
use crate::registry::{Access, Remote};
use crate::source::Source;
use crate::store::Here;

/// Why it cannot be said what an image offers.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error("image archive")]
    Archive(#[from] ArchiveError),
    #[error("ask for the image")]
    Pull(#[from] Box<PullError>),
}

/// The candidates of an image, in its order. A directory is its own image and offers one that says nothing.
pub fn of(source: &Source, access: &Access, caller: Caller<'_>) -> Result<Vec<Candidate>, OfferError> {
    match source {
        Source::Dir(path) => Ok(vec![Candidate { digest: path.display().to_string(), platform: None }]),
        Source::OciArchive(path) => Ok(candidates(&Archive::open(path)?)?),
        Source::Reference(reference) => {
            let remote = Remote::open(reference, access, caller).map_err(Box::new)?;
            Ok(candidates(&remote).map_err(Box::new)?)
        }
    }
}

/// The same of an image of this machine, whose index says it also of what is not here. Nothing for a name that none has,
/// and where it takes more than is here.
pub fn stored(reference: &Reference, content: &Content) -> Option<Vec<Candidate>> {
    let here = Here::find(content, reference)?;
    candidates(&here.blobs()).ok()
}

pub(crate) fn candidates<B: Blobs>(blobs: &B) -> Result<Vec<Candidate>, B::Error> {
    let root = blobs.root()?.bytes;
    let mut found = Vec::new();
    match json("the image's index", &root)? {
        Document::Manifest(manifest) => {
            let digest = crate::build::text_of(&Sha256::digest(&root));
            found.push(of_manifest(blobs, digest, &manifest)?);
        }
        Document::Index(index) => gather(blobs, &index, 0, &mut found)?,
    }
    Ok(found)
}

fn gather<B: Blobs>(
    blobs: &B,
    index: &Index,
    depth: usize,
    found: &mut Vec<Candidate>,
) -> Result<(), B::Error> {
    if depth > DEEPEST_INDEX {
        return Err(ContentError::TooDeep.into());
    }
    for entry in &index.manifests {
        // The platform of an entry is its own; only one that says none has to be looked into.
        if entry.platform.is_some() {
            found.push(Candidate { digest: entry.digest.clone(), platform: entry.platform.clone() });
            continue;
        }
        match document(blobs, entry)? {
            Document::Manifest(manifest) => found.push(of_manifest(blobs, entry.digest.clone(), &manifest)?),
            Document::Index(index) => gather(blobs, &index, depth + 1, found)?,
        }
    }
    Ok(())
}

fn document<B: Blobs>(blobs: &B, entry: &Descriptor) -> Result<Document, B::Error> {
    let bytes = blobs.manifest(entry)?;
    check(&entry.digest, &Sha256::digest(&bytes))?;
    Ok(json(&entry.digest, &bytes)?)
}

fn of_manifest<B: Blobs>(blobs: &B, digest: String, manifest: &Manifest) -> Result<Candidate, B::Error> {
    let name = &manifest.config.digest;
    let configuration: Configuration = json(name, &blobs.document(&manifest.config)?)?;
    Ok(Candidate { digest, platform: Some(configuration.platform) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn offered(sample: Sample) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        sample.write(&path);
        let found = of(&Source::OciArchive(path), &Access::default(), Caller::silent()).unwrap();
        found.iter().map(|each| each.platform.as_ref().unwrap().to_string()).collect()
    }

    #[test]
    fn every_entry_is_offered_also_of_an_index_in_an_index() {
        let sample = || Sample::default().image("windows", &[]).image("linux", &[]);
        assert_eq!(offered(sample()), ["windows/amd64", "linux/amd64"]);
        assert_eq!(offered(sample().nested()), ["windows/amd64", "linux/amd64"]);
    }
}
