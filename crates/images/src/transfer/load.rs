//! Images of a file or a directory into the store: documents, configurations and layers, each checked on its way.
//!
//! What lists an image for several platforms often holds one of them only. So a manifest counts as there when all
//! that it leads to is, here or in the store; an image needs one such manifest.

mod parts;

use std::cell::Cell;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::docker::{self, Listed};
use super::layout::{self, Entry, Index, MARKER, VERSION};
use super::{Format, Package, TransferError};
use crate::blobs::json;
use crate::content::{Content, DepotError, Key};
use crate::digest::Digest;
use crate::document::Descriptor;
use crate::lease::Lease;
use crate::progress::{Caller, Progress, Stage};
use crate::reference::Reference;
use crate::unpack::{Compression, detect};
use parts::{Part, Parts};

/// Read at once.
const CHUNK: usize = 128 * 1024;

/// What a package had. Nothing of it is collected while this lives.
#[derive(Debug)]
pub struct Imported {
    pub format: Format,
    pub images: Vec<Found>,
    _leases: Vec<Lease>,
}

/// One image that is in the store now, without a record of its own yet.
#[derive(Debug, Clone)]
pub struct Found {
    /// Docker's archives may give an image several.
    pub names: Vec<Reference>,
    /// Its manifest, or the index of its platforms.
    pub root: Descriptor,
}

/// How images lie in a package, by what is in it.
pub fn format_of(package: &Package) -> Result<Format, TransferError> {
    match (package.has(layout::INDEX), package.has(docker::MANIFEST), package.is_dir()) {
        (true, _, true) => Ok(Format::OciDir),
        (true, _, false) => Ok(Format::OciArchive),
        (false, true, _) => Ok(Format::DockerArchive),
        (false, false, _) => {
            Err(TransferError::Unknown { what: package.what().to_owned(), found: package.shown() })
        }
    }
}

/// Takes every image of the package into the store.
pub fn import(package: &Package, content: &Content, caller: Caller<'_>) -> Result<Imported, TransferError> {
    let format = format_of(package)?;
    let import = Import { walked: Cell::new(0), package, content, caller };
    let mut imported = Imported { format, images: Vec::new(), _leases: Vec::new() };
    match format {
        Format::DockerArchive => {
            for listed in Listed::all(package)? {
                imported.add(import.docker(&listed)?);
            }
        }
        Format::OciDir | Format::OciArchive => {
            for listed in import.index()?.images() {
                imported.add(import.oci(listed)?);
            }
        }
    }
    if imported.images.is_empty() {
        return Err(TransferError::Empty { what: package.what().to_owned() });
    }
    Ok(imported)
}

struct Import<'a> {
    /// How many documents were looked into.
    walked: Cell<usize>,
    package: &'a Package,
    content: &'a Content,
    caller: Caller<'a>,
}

// === impl Imported ===

impl Imported {
    fn add(&mut self, (found, lease): (Found, Lease)) {
        self.images.push(found);
        self._leases.push(lease);
    }
}

// === impl Import ===

impl Import<'_> {
    fn index(&self) -> Result<Index, TransferError> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Marker {
            image_layout_version: String,
        }
        // Some writers leave the marker out; one that is there must be understood.
        if self.package.has(MARKER) {
            let Marker { image_layout_version: found } = json(MARKER, &self.package.document(MARKER)?)?;
            if found != VERSION {
                let what = self.package.what().to_owned();
                return Err(TransferError::Version { what, found, wanted: VERSION });
            }
        }
        Ok(json(layout::INDEX, &self.package.document(layout::INDEX)?)?)
    }

    fn oci(&self, listed: layout::Listed) -> Result<(Found, Lease), TransferError> {
        let names = listed.name.iter().cloned().collect();
        let (root, made) = listed.root();
        let mut parts = Parts::default();
        match &made {
            Some(index) => self.platforms(json(layout::INDEX, index)?, 0, &mut parts)?,
            None => self.walk(&root, 0, &mut parts)?,
        }
        let digests = parts.0.iter().map(|part| part.digest.clone()).chain([Digest::parse(&root.digest)?]);
        let lease = self.content.hold(&digests.collect::<Vec<_>>())?;
        for part in &parts.0 {
            self.take(part)?;
        }
        if let Some(index) = made {
            self.content.put(&index)?;
        }
        Ok((Found { names, root: root.descriptor() }, lease))
    }

    fn docker(&self, listed: &Listed) -> Result<(Found, Lease), TransferError> {
        let what = self.package.what();
        let names = listed.names(what)?;
        let config = self.package.document(&listed.config)?;
        let ids = listed.diff_ids(&config, what)?;
        let layers = listed.layers.iter().zip(&ids).map(|(name, id)| self.docker_layer(name, id));
        let (parts, entries): (Vec<_>, Vec<_>) =
            layers.collect::<Result<Vec<_>, TransferError>>()?.into_iter().unzip();
        let manifest = docker::Manifest::new(&config, entries).bytes();
        let digests = parts.iter().map(|part| part.digest.clone());
        let digests: Vec<_> = digests.chain([Digest::of(&config), Digest::of(&manifest)]).collect();
        let lease = self.content.hold(&digests)?;
        for part in &parts {
            self.take(part)?;
        }
        self.content.put(&config)?;
        let digest = self.content.put(&manifest)?;
        let root = Entry::new(layout::MANIFEST_TYPE, digest.as_str().to_owned(), manifest.len() as u64);
        Ok((Found { names, root: root.descriptor() }, lease))
    }

    /// Plain layers are known by their diff id; for others the digest has to be found out.
    fn docker_layer(&self, name: &str, id: &Digest) -> Result<(Part, Entry), TransferError> {
        let failed = |e| TransferError::Layer { name: name.to_owned(), source: Box::new(e) };
        let member = self.package.member(name)?;
        let size = member.limit();
        let (mut bytes, packed) = detect(member, None).map_err(failed)?;
        let digest = if packed == Compression::None { id.clone() } else { hashed(name, &mut bytes)? };
        let entry = Entry::new(docker::layer_type(packed), digest.as_str().to_owned(), size);
        Ok((Part { digest, size, member: name.to_owned() }, entry))
    }

    /// Moves one blob, unless it is there.
    fn take(&self, part: &Part) -> Result<(), TransferError> {
        let tell = |done, stage| {
            let digest = part.digest.clone();
            (self.caller.tell)(&Progress::Layer { digest, done, total: part.size, stage });
        };
        let _flight = self.content.flight(Key::Blob(part.digest.clone()), self.caller.gave_up)?;
        if self.content.blob_size(&part.digest).is_some() {
            tell(part.size, Stage::Present);
            return Ok(());
        }
        loop {
            match self.copy(part, &tell) {
                // What an earlier try left is to blame, which is gone now: what the package has is another thing.
                Err(TransferError::Depot(DepotError::Damaged { resumed, .. })) if resumed > 0 => {}
                copied => break copied?,
            }
        }
        tell(part.size, Stage::Done);
        Ok(())
    }

    /// Moves what is not here yet from an earlier try. The blob's flight is ours.
    fn copy(&self, part: &Part, tell: &dyn Fn(u64, Stage)) -> Result<(), TransferError> {
        let failed = |source| TransferError::Open { what: part.member.clone(), source };
        let mut member = self.package.member(&part.member)?;
        let mut ingest = self.content.ingest(&part.digest, part.size)?;
        let mut done = ingest.offset();
        io::copy(&mut (&mut member).take(done), &mut io::sink()).map_err(failed)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            if (self.caller.gave_up)() {
                return Err(TransferError::GaveUp);
            }
            let read = member.read(&mut chunk).map_err(failed)?;
            if read == 0 {
                break;
            }
            if let Err(error) = ingest.append(&chunk[..read]) {
                // It comes again at no cost: the half of it would only keep a full disk full.
                drop(ingest.restart());
                return Err(error.into());
            }
            done += read as u64;
            tell(done, Stage::Downloading);
        }
        ingest.commit()?;
        Ok(())
    }
}

fn hashed(name: &str, bytes: &mut impl Read) -> Result<Digest, TransferError> {
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = bytes.read(&mut chunk);
        match read.map_err(|source| TransferError::Open { what: name.to_owned(), source })? {
            0 => return Ok(Digest::parse(&crate::build::text_of(&hash.finalize()))?),
            read => hash.update(&chunk[..read]),
        }
    }
}

/// Where a layout keeps a blob.
pub(super) fn blob_name(digest: &Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

#[cfg(test)]
mod tests;
