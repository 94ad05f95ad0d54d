//! One layer: files, directories and links as a tar file that depends on nothing but them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::tools::debian;

/// The files of a layer. Directories above them come by themselves.
#[derive(Debug, Clone, Default)]
pub struct Layer {
    /// Sorted, so that a directory comes before what is in it.
    entries: BTreeMap<String, Entry>,
    /// A tar file that somebody else wrote, instead.
    whole: Option<Vec<u8>>,
    packing: Packing,
    /// Packed once for all images that share the layer: compression is the slowest part of a test's image.
    packed: Arc<OnceLock<Packed>>,
}

/// A layer as a registry has it.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) media_type: &'static str,
    pub(super) blob: super::Blob,
    pub(super) digest: String,
    /// The digest of what is compressed in it.
    pub(super) diff_id: String,
}

#[derive(Debug, Clone, Copy, Default)]
enum Packing {
    #[default]
    Gzip,
    Zstd,
    Plain,
}

#[derive(Debug, Clone)]
enum Entry {
    Directory { mode: u32 },
    File { bytes: Vec<u8>, mode: u32 },
    Symlink(String),
    HardLink(String),
}

// === impl Layer ===

impl Layer {
    pub fn new() -> Self {
        Self::default()
    }

    /// A tar file as it is, whatever is in it.
    pub fn of_tar(bytes: Vec<u8>) -> Self {
        Self { whole: Some(bytes), ..Self::default() }
    }

    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>, mode: u32) -> Self {
        self.with(path, Entry::File { bytes: bytes.into(), mode })
    }

    /// A copy of a file of the host.
    pub fn host_file(self, path: &str, from: impl AsRef<Path>, mode: u32) -> Result<Self> {
        let from = from.as_ref();
        let bytes = fs::read(from).with_context(|| format!("read {}", from.display()))?;
        Ok(self.file(path, bytes, mode))
    }

    #[must_use]
    pub fn directory(self, path: &str, mode: u32) -> Self {
        self.with(path, Entry::Directory { mode })
    }

    #[must_use]
    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.with(path, Entry::Symlink(target.to_owned()))
    }

    /// `target` is a path in the layer.
    #[must_use]
    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.with(path, Entry::HardLink(target.to_owned()))
    }

    /// Removes what an earlier layer has at `path`.
    #[must_use]
    pub fn whiteout(self, path: &str) -> Self {
        let (dir, name) = path.rsplit_once('/').map_or(("", path), |(dir, name)| (dir, name));
        let marker = format!("{dir}/.wh.{name}");
        self.file(marker.trim_start_matches('/'), "", 0o644)
    }

    /// As newer builders compress it.
    #[must_use]
    pub fn zstd(self) -> Self {
        self.packed_as(Packing::Zstd)
    }

    /// Not compressed at all.
    #[must_use]
    pub fn plain(self) -> Self {
        self.packed_as(Packing::Plain)
    }

    fn packed_as(self, packing: Packing) -> Self {
        Self { packing, packed: Arc::default(), ..self }
    }

    fn with(mut self, path: &str, entry: Entry) -> Self {
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.entries.insert(path.to_owned(), entry);
        self.packed = Arc::default();
        self
    }

    pub(super) fn packed(&self) -> Result<&Packed> {
        if self.packed.get().is_none() {
            let tar = self.tar()?;
            let (media_type, diff_id) = (self.packing.media_type(), super::digest(&tar));
            let blob: super::Blob = self.packing.pack(tar)?.into();
            let packed = Packed { media_type, digest: super::digest(&blob), blob, diff_id };
            // Another thread may have been faster with the same.
            let _ = self.packed.set(packed);
        }
        self.packed.get().context("a layer that was packed")
    }

    pub(super) fn tar(&self) -> Result<Vec<u8>> {
        if let Some(whole) = &self.whole {
            return Ok(whole.clone());
        }
        let mut tar = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            append(&mut tar, path, entry).with_context(|| format!("put {path} into a layer"))?;
        }
        tar.into_inner().context("finish a layer")
    }
}

// === impl Packing ===

impl Packing {
    fn media_type(self) -> &'static str {
        match self {
            Self::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
            Self::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
            Self::Plain => "application/vnd.oci.image.layer.v1.tar",
        }
    }

    fn pack(self, tar: Vec<u8>) -> Result<Vec<u8>> {
        match self {
            Self::Gzip => gzip(&tar),
            Self::Zstd => zstd(&tar),
            Self::Plain => Ok(tar),
        }
    }
}

fn append(tar: &mut tar::Builder<Vec<u8>>, path: &str, entry: &Entry) -> std::io::Result<()> {
    match entry {
        Entry::Directory { mode } => {
            tar.append_data(&mut header(EntryType::Directory, *mode, 0), format!("{path}/"), &[][..])
        }
        Entry::File { bytes, mode } => tar.append_data(
            &mut header(EntryType::Regular, *mode, bytes.len() as u64),
            path,
            bytes.as_slice(),
        ),
        Entry::Symlink(target) => tar.append_link(&mut header(EntryType::Symlink, 0o777, 0), path, target),
        Entry::HardLink(target) => tar.append_link(&mut header(EntryType::Link, 0o644, 0), path, target),
    }
}

/// Time and owner are always the same.
fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Adds one member to an archive in the way layers are written.
pub(super) fn append_member(
    tar: &mut tar::Builder<impl Write>,
    path: &str,
    bytes: &[u8],
) -> std::io::Result<()> {
    tar.append_data(&mut header(EntryType::Regular, 0o644, bytes.len() as u64), path, bytes)
}

/// No name and no time in the gzip header. Fast: the tests' programs are large and stay here.
fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::fast());
    gzip.write_all(bytes).and_then(|()| gzip.finish()).context("compress a layer")
}

/// By the program. With several threads its output would be another one.
fn zstd(bytes: &[u8]) -> Result<Vec<u8>> {
    debian::ensure(&["zstd"])?;
    let mut file = tempfile::tempfile().context("make a file for zstd")?;
    file.write_all(bytes).and_then(|()| file.rewind()).context("write a layer for zstd")?;
    let mut command = Command::new("zstd");
    let output = command.args(["-q", "-1", "--single-thread", "--stdout"]).stdin(file).output();
    let output = output.context("start zstd")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "zstd: {}: {}", output.status, said.trim());
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(layer: &Layer) -> Vec<String> {
        let bytes = layer.tar().expect("made");
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().expect("read");
        entries.map(|entry| entry.expect("read").path().expect("named").display().to_string()).collect()
    }

    #[test]
    fn directories_come_by_themselves_and_first() {
        let layer =
            Layer::new().file("a/b/c", "x", 0o644).symlink("a/b-c", "b/c").whiteout("old").whiteout("d/e");
        assert_eq!(names(&layer), [".wh.old", "a/", "a/b/", "a/b-c", "a/b/c", "d/", "d/.wh.e"]);
    }

    #[test]
    fn the_order_of_calls_does_not_matter() {
        let one = Layer::new().file("a/b", "1", 0o644).file("c", "2", 0o755);
        let two = Layer::new().file("c", "2", 0o755).file("a/b", "1", 0o644);
        assert_eq!(one.tar().expect("made"), two.tar().expect("made"));
        let mode = Layer::new().file("c", "2", 0o644).file("a/b", "1", 0o644);
        assert_ne!(one.tar().expect("made"), mode.tar().expect("made"));
    }

    #[test]
    fn a_layer_is_the_same_however_it_is_packed() {
        let layer = || Layer::new().file("a", "1", 0o644);
        let (gzip, plain) = (layer(), layer().plain());
        let [gzip, plain] = [&gzip, &plain].map(|layer| layer.packed().expect("packed"));
        assert_eq!(gzip.diff_id, plain.diff_id);
        assert_eq!(plain.digest, plain.diff_id);
        assert_ne!(gzip.digest, gzip.diff_id);
        assert!(gzip.media_type.ends_with("+gzip") && plain.media_type.ends_with(".tar"));
    }

    #[test]
    fn a_path_longer_than_a_tar_header_survives() {
        let long = format!("{}/file", ["directory"; 20].join("/"));
        assert!(names(&Layer::new().file(&long, "x", 0o644)).contains(&long));
    }
}
