//! Layers as an attacker would write them, and a directory to apply them to.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use images::unpack::{Report, Unpack, UnpackError};
use tar::{EntryType, Header};

/// A layer of raw headers, because the tar crate refuses to write what an attacker would.
#[derive(Default)]
pub(crate) struct Layer(Vec<u8>);

pub(crate) const REGULAR: EntryType = EntryType::Regular;

// === impl Layer ===

impl Layer {
    pub(crate) fn new() -> Layer {
        Layer::default()
    }

    /// An entry whose header can be changed before its checksum is made.
    pub(crate) fn with(
        self,
        name: &[u8],
        kind: EntryType,
        body: &[u8],
        set: impl FnOnce(&mut Header),
    ) -> Layer {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(body.len() as u64);
        set(&mut header);
        header.set_cksum();
        self.bytes(header.as_bytes()).bytes(body)
    }

    /// Bytes as they are, filled up to the next block.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Layer {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn raw(self, name: &str, kind: EntryType, link: &str, body: &[u8]) -> Layer {
        self.with(name.as_bytes(), kind, body, |header| {
            header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        })
    }

    pub(crate) fn file(self, name: &str, body: &str) -> Layer {
        self.raw(name, REGULAR, "", body.as_bytes())
    }

    pub(crate) fn dir(self, name: &str) -> Layer {
        self.raw(name, EntryType::Directory, "", b"")
    }

    pub(crate) fn symlink(self, name: &str, to: &str) -> Layer {
        self.raw(name, EntryType::Symlink, to, b"")
    }

    pub(crate) fn hard_link(self, name: &str, to: &str) -> Layer {
        self.raw(name, EntryType::Link, to, b"")
    }

    /// PAX records for the entry that follows.
    pub(crate) fn records(self, records: &[(&str, &[u8])]) -> Layer {
        let mut text = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (rest + 1..).find(|length| length.to_string().len() + rest == *length);
            text.extend(format!("{} {key}=", length.expect("there is one")).into_bytes());
            text.extend(*value);
            text.push(b'\n');
        }
        self.raw("pax", EntryType::XHeader, "", &text)
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn gzip(self) -> Vec<u8> {
        gzip(&self.0)
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

/// A directory for an image, in a directory with something that must stay as it is.
pub(crate) struct World {
    dir: tempfile::TempDir,
}

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("image")).unwrap();
        World { dir }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    pub(crate) fn beside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn run(&self, layer: &[u8], how: &Unpack<'_>) -> Result<Report, UnpackError> {
        how.run(layer, &self.root())
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap_or_else(|e| format!("{name}: {e}"))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root().join(name)).is_ok()
    }
}
