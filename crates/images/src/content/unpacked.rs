//! Layers and flat images: directories that are complete or absent.
//!
//! Each is made as `unfinished-<hex>` beside its place, gets a note of what is in it, and is renamed. A directory
//! without a note that can be read is none.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::settle::SYNCED;
use super::{At, Content, DepotError, FLAT, Key, LAYERS, if_there};
use crate::digest::Digest;
use crate::fail;

/// What is in a layer or a flat image, so that nobody has to walk it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What the files hold together.
    pub size: u64,
    pub entries: u64,
    /// Directories that the layer does not describe.
    #[serde(with = "paths")]
    pub implied: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// The file `layer.json` or `flat.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NoteFile {
    v: u32,
    /// In which boot it was written: until it is marked as synced, a later one does not trust it.
    pub(super) boot: String,
    #[serde(flatten)]
    note: Arc<Note>,
}

/// A layer or a flat image that is there.
#[derive(Debug, Clone)]
pub struct Unpacked {
    pub files: PathBuf,
    pub note: Arc<Note>,
}

/// A layer or a flat image that is being made; dropped before it is committed, it goes.
#[derive(Debug)]
pub struct Unfinished {
    content: Content,
    kind: Kind,
    path: PathBuf,
    files: PathBuf,
    digest: Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Layer,
    Flat,
}

const VERSION: u32 = 1;
const FILES: &str = "files";
pub(crate) const UNFINISHED: &str = "unfinished-";

// === impl Content ===

impl Content {
    /// A layer by its diff id.
    pub fn layer(&self, diff: &Digest) -> Result<Option<Unpacked>, DepotError> {
        self.unpacked(Kind::Layer, diff)
    }

    /// A place to unpack a layer. The caller holds the layer's flight.
    pub fn new_layer(&self, diff: &Digest) -> Result<Unfinished, DepotError> {
        self.unfinished(Kind::Layer, diff)
    }

    /// A whole image as one directory, by its configuration's digest.
    pub fn flat(&self, id: &Digest) -> Result<Option<Unpacked>, DepotError> {
        self.unpacked(Kind::Flat, id)
    }

    /// A place to unpack a whole image. The caller holds the flat image's flight.
    pub fn new_flat(&self, id: &Digest) -> Result<Unfinished, DepotError> {
        self.unfinished(Kind::Flat, id)
    }

    pub(crate) fn unpacked(&self, kind: Kind, digest: &Digest) -> Result<Option<Unpacked>, DepotError> {
        let place = self.place(kind, digest);
        let found =
            self.note_file(kind, &place)?.filter(|file| file.boot == self.inner.boot || is_settled(&place));
        Ok(found.map(|file| Unpacked { files: place.join(FILES), note: file.note.clone() }))
    }

    /// A note that cannot be read is one that power loss has cut: the thing is not there.
    pub(super) fn note_file(&self, kind: Kind, place: &Path) -> Result<Option<Arc<NoteFile>>, DepotError> {
        match self.inner.notes.read(&place.join(kind.note())) {
            Err(DepotError::Json { .. }) => Ok(None),
            Ok(Some(file)) if file.v != VERSION => Ok(None),
            other => other,
        }
    }

    /// What is known about it, trusted or not.
    pub(crate) fn note(&self, kind: Kind, digest: &Digest) -> Result<Option<Arc<Note>>, DepotError> {
        Ok(self.note_file(kind, &self.place(kind, digest))?.map(|file| file.note.clone()))
    }

    fn unfinished(&self, kind: Kind, digest: &Digest) -> Result<Unfinished, DepotError> {
        self.must_fly(kind.key(digest))?;
        let path = self.room(kind.room()).join(format!("{UNFINISHED}{}", digest.hex()));
        // Of one who died: we have the flight that was theirs.
        os::file::remove_tree(&path).at("remove", &path)?;
        let files = path.join(FILES);
        std::fs::create_dir_all(&files).at("make", &files)?;
        fail::point("layer-begun");
        Ok(Unfinished { content: self.clone(), kind, path, files, digest: digest.clone() })
    }

    pub(crate) fn place(&self, kind: Kind, digest: &Digest) -> PathBuf {
        self.room(kind.room()).join(digest.hex())
    }

    pub(crate) fn note_path(&self, kind: Kind, digest: &Digest) -> PathBuf {
        self.place(kind, digest).join(kind.note())
    }
}

// === impl Unfinished ===

impl Unfinished {
    /// Where the files go.
    pub fn files(&self) -> &Path {
        &self.files
    }

    /// Gives it its place.
    pub fn commit(self, note: Note) -> Result<Unpacked, DepotError> {
        let place = self.content.place(self.kind, &self.digest);
        let note = Arc::new(note);
        let file = NoteFile { v: VERSION, boot: self.content.inner.boot.clone(), note: note.clone() };
        let path = self.path.join(self.kind.note());
        write(&path, &file).at("write", &path)?;
        fail::point("layer-noted");
        // What stands there was found not to be trusted, or the caller would not have made it again.
        self.content.discard(&place)?;
        os::file::rename(&self.path, &place).at("rename to", &place)?;
        fail::point("layer-committed");
        Ok(Unpacked { files: place.join(FILES), note })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // The error that led here is the one to tell; the next opening sweeps what stays. After a commit, nothing does.
        drop(os::file::remove_tree(&self.path));
    }
}

fn write(path: &Path, file: &NoteFile) -> io::Result<()> {
    std::fs::write(path, serde_json::to_vec(file)?)
}

// === impl Kind ===

impl Kind {
    pub(crate) const ALL: [Kind; 2] = [Kind::Layer, Kind::Flat];

    pub(crate) fn room(self) -> &'static str {
        match self {
            Kind::Layer => LAYERS,
            Kind::Flat => FLAT,
        }
    }

    pub(super) fn note(self) -> &'static str {
        match self {
            Kind::Layer => "layer.json",
            Kind::Flat => "flat.json",
        }
    }

    pub(crate) fn key(self, digest: &Digest) -> Key {
        match self {
            Kind::Layer => Key::Layer(digest.clone()),
            Kind::Flat => Key::Flat(digest.clone()),
        }
    }
}

/// Whether it was brought to the disk.
pub(crate) fn is_settled(place: &Path) -> bool {
    if_there(std::fs::metadata(place.join(SYNCED))).is_ok_and(|found| found.is_some())
}

/// Names in an image are bytes, and JSON has only text.
mod paths {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Path {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| match path.to_str() {
            Some(text) => Path::Text(text.to_owned()),
            None => Path::Bytes(os::tree::bytes(path.as_os_str())),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let found = Vec::<Path>::deserialize(from)?;
        let path = |each| match each {
            Path::Text(text) => Ok(PathBuf::from(text)),
            Path::Bytes(bytes) => os::tree::name(&bytes)
                .map(PathBuf::from)
                .ok_or_else(|| serde::de::Error::custom("a path that this system cannot hold")),
        };
        found.into_iter().map(path).collect()
    }
}
