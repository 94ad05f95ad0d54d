//! Images of the store into a file, a directory or a pipe. The same images give the same bytes.

mod checked;
mod plan;

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::docker::{self, Listed};
use super::layout::{self, Index, MARKER, VERSION};
use super::load::blob_name;
use super::shelf::{Shelf, Target};
use super::{Format, TransferError};
use crate::blobs::{ContentError, json};
use crate::content::Content;
use crate::digest::Digest;
use crate::document::{Descriptor, Document, Manifest};
use crate::platform::Host;
use crate::progress::{Caller, Progress, Stage};
use crate::reference::Reference;
use crate::unpack::detect;
use checked::Checked;
use plan::{Plan, Search};

/// An image that is to be saved.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub name: Option<Reference>,
    /// The manifest or index that the name leads to.
    pub target: Digest,
}

/// Which of an image's platforms are saved.
#[derive(Debug, Clone)]
pub enum Platforms {
    /// The index and everything below it.
    All,
    /// One manifest.
    Of(Host),
}

/// What was saved.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    pub format: Format,
    pub images: Vec<SavedImage>,
}

#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedImage {
    pub name: Option<String>,
    /// Of the manifest or index in the file.
    pub digest: String,
    /// Of its blobs as they are in the store.
    pub bytes: u64,
}

/// Writes the images to the target.
pub fn save(
    content: &Content,
    images: &[Chosen],
    platforms: &Platforms,
    format: Format,
    target: Target<'_>,
    caller: Caller<'_>,
) -> Result<Saved, TransferError> {
    let plans =
        images.iter().map(|image| Plan::make(content, image, platforms)).collect::<Result<Vec<_>, _>>()?;
    if format == Format::DockerArchive && plans.iter().any(Plan::is_index) {
        return Err(TransferError::OnePlatform);
    }
    let digests: Vec<_> = plans.iter().flat_map(|plan| plan.parts.iter().cloned()).collect();
    let _lease = content.hold(&digests)?;
    let what = target.what();
    let mut writer = Writer { content, shelf: target.open()?, what, caller };
    match format {
        Format::DockerArchive => writer.docker(&plans)?,
        Format::OciDir | Format::OciArchive => writer.oci(&plans)?,
    }
    writer.finish()?;
    Ok(Saved { format, images: plans.iter().map(|plan| plan.saved(content)).collect() })
}

struct Writer<'a> {
    content: &'a Content,
    shelf: Shelf<'a>,
    what: String,
    caller: Caller<'a>,
}

// === impl Writer ===

impl Writer<'_> {
    fn oci(&mut self, plans: &[Plan]) -> Result<(), TransferError> {
        let before = self.shelf.list().map_err(|e| self.failed(e))?;
        let mut entries = match before {
            Some(bytes) => json::<Index>(layout::INDEX, &bytes)?.manifests,
            None => Vec::new(),
        };
        let marker = format!(r#"{{"imageLayoutVersion":"{VERSION}"}}"#);
        self.put(MARKER, marker.as_bytes())?;
        for plan in plans {
            for part in &plan.parts {
                self.blob(part)?;
            }
            let entry = plan.root.clone().named(plan.name.as_ref());
            entries.retain(|other| !other.is_replaced_by(&entry));
            entries.push(entry);
        }
        // Last: a directory that is half written lists only what is there.
        let index = Index::of(entries).bytes();
        self.put(layout::INDEX, &index)
    }

    fn blob(&mut self, digest: &Digest) -> Result<(), TransferError> {
        let name = blob_name(digest);
        let size = self.content.blob_size(digest).unwrap_or_default();
        if self.shelf.has(&name) {
            return Ok(());
        }
        let gone = || TransferError::NotStored {
            name: self.what.clone(),
            digest: digest.as_str().to_owned(),
            all: false,
        };
        let blob = self.content.blob(digest)?.ok_or_else(gone)?;
        let watched = Watched { from: blob, digest, done: 0, total: size, caller: self.caller };
        // One that rotted would make an archive that nobody can load.
        let checked = Checked::new(watched, digest, size).map_err(|e| failed(&self.what, e))?;
        self.shelf.put(&name, size, checked).map_err(|e| failed(&self.what, e))
    }

    fn docker(&mut self, plans: &[Plan]) -> Result<(), TransferError> {
        let mut list: Vec<Listed> = Vec::new();
        for plan in plans {
            let listed = self.docker_image(plan)?;
            match list.iter_mut().find(|other| other.config == listed.config) {
                Some(other) => {
                    other.repo_tags.get_or_insert_default().extend(listed.repo_tags.unwrap_or_default())
                }
                None => list.push(listed),
            }
        }
        let bytes = serde_json::to_vec(&list).expect("documents have text keys");
        self.put(docker::MANIFEST, &bytes)
    }

    fn docker_image(&mut self, plan: &Plan) -> Result<Listed, TransferError> {
        let search = Search { content: self.content, label: &plan.label, all: false };
        let root = Digest::parse(&plan.root.digest)?;
        let manifest: Manifest = match json(root.as_str(), &search.document(&root)?)? {
            Document::Manifest(manifest) => manifest,
            Document::Index(_) => return Err(TransferError::OnePlatform),
        };
        let config = Digest::parse(&manifest.config.digest)?;
        let bytes = search.document(&config)?;
        let mut listed = Listed {
            config: format!("{}.json", config.hex()),
            // A digest is no tag.
            repo_tags: plan
                .name
                .iter()
                .filter(|name| name.tag().is_some())
                .map(tagged)
                .collect::<Vec<_>>()
                .into(),
            layers: manifest.layers.iter().map(|layer| layer.digest.clone()).collect(),
        };
        let ids = listed.diff_ids(&bytes, &plan.label)?;
        listed.layers = ids.iter().map(|id| format!("{}/layer.tar", id.hex())).collect();
        for ((layer, id), name) in manifest.layers.iter().zip(&ids).zip(&listed.layers) {
            self.plain_layer(layer, id, name)?;
        }
        if !self.shelf.has(&listed.config) {
            self.put(&listed.config.clone(), &bytes)?;
        }
        Ok(listed)
    }

    /// A tar member's size comes before it, so a packed layer is unpacked twice: to know it, and to write it.
    fn plain_layer(&mut self, layer: &Descriptor, id: &Digest, name: &str) -> Result<(), TransferError> {
        if self.shelf.has(name) {
            return Ok(());
        }
        let digest = Digest::parse(&layer.digest)?;
        let (size, found) = measure(self.plain(&digest)?, self.caller).map_err(|source| {
            told(source, |source| TransferError::Open { what: layer.digest.clone(), source })
        })?;
        if found != id.as_str() {
            let (name, wanted) = (layer.digest.clone(), id.as_str().to_owned());
            return Err(TransferError::DiffId { name, wanted, found });
        }
        let watched = Watched {
            from: self.plain(&digest)?,
            digest: &digest,
            done: 0,
            total: size,
            caller: self.caller,
        };
        self.shelf.put(name, size, watched).map_err(|e| failed(&self.what, e))
    }

    fn plain(&self, digest: &Digest) -> Result<Box<dyn Read>, TransferError> {
        let name = || digest.as_str().to_owned();
        let gone = || TransferError::NotStored { name: self.what.clone(), digest: name(), all: false };
        let blob = self.content.blob(digest)?.ok_or_else(gone)?;
        let (blob, packed) =
            detect(blob, None).map_err(|e| TransferError::Layer { name: name(), source: Box::new(e) })?;
        packed.decoder(blob).map_err(|source| TransferError::Open { what: name(), source })
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TransferError> {
        self.shelf.put(name, bytes.len() as u64, bytes).map_err(|e| failed(&self.what, e))
    }

    fn finish(self) -> Result<(), TransferError> {
        let what = self.what;
        self.shelf.finish().map_err(|e| failed(&what, e))
    }

    fn failed(&self, source: io::Error) -> TransferError {
        failed(&self.what, source)
    }
}

fn failed(what: &str, source: io::Error) -> TransferError {
    told(source, |source| TransferError::Write { what: what.to_owned(), source })
}

/// An interrupt travels as an I/O error, and so does a damaged blob.
fn told(source: io::Error, otherwise: impl FnOnce(io::Error) -> TransferError) -> TransferError {
    if source.get_ref().is_some_and(|inner| inner.is::<GaveUp>()) {
        return TransferError::GaveUp;
    }
    match source.downcast::<ContentError>() {
        Ok(damaged) => TransferError::Content(damaged),
        Err(other) => otherwise(other),
    }
}

/// The name with its tag, without a digest.
fn tagged(name: &Reference) -> String {
    let whole = name.to_string();
    whole.split_once('@').map_or_else(|| whole.clone(), |(tagged, _)| tagged.to_owned())
}

fn measure(mut from: impl Read, caller: Caller<'_>) -> io::Result<(u64, String)> {
    let (mut hash, mut size, mut chunk) = (Sha256::new(), 0, vec![0; 128 * 1024]);
    loop {
        if (caller.gave_up)() {
            return Err(io::Error::other(GaveUp));
        }
        match from.read(&mut chunk)? {
            0 => return Ok((size, crate::build::text_of(&hash.finalize()))),
            read => {
                size += read as u64;
                hash.update(&chunk[..read]);
            }
        }
    }
}

/// What a chosen image starts from, for a push; all of it must be here.
pub fn root(content: &Content, image: &Chosen, platforms: &Platforms) -> Result<Descriptor, TransferError> {
    Ok(Plan::make(content, image, platforms)?.root.descriptor())
}

#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct GaveUp;

/// A blob on its way out: its progress is told, and the caller may lose patience.
struct Watched<'a, R> {
    from: R,
    digest: &'a Digest,
    done: u64,
    total: u64,
    caller: Caller<'a>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.caller.gave_up)() {
            return Err(io::Error::other(GaveUp));
        }
        let read = self.from.read(buffer)?;
        self.done += read as u64;
        let stage = if self.done >= self.total { Stage::Done } else { Stage::Downloading };
        let (digest, done, total) = (self.digest.clone(), self.done, self.total);
        (self.caller.tell)(&Progress::Layer { digest, done, total, stage });
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
