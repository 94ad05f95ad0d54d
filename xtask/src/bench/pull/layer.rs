//! One layer while it is written: tar, compressed and hashed in one pass, as images name it.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Builder, Entry, EntryType, Header};

/// Docker compresses layers at zlib's default level.
const LEVEL: u32 = 6;
const TEMPORARY: &str = "unfinished";

/// A layer as a manifest and a configuration name it.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) digest: String,
    pub(super) diff_id: String,
    pub(super) size: u64,
}

type Packed = Hashing<GzEncoder<Hashing<BufWriter<File>>>>;

pub(super) struct Layer {
    tar: Builder<Packed>,
    dir: PathBuf,
    compressed: Rc<Cell<u64>>,
    files: u64,
    /// What is in it: directories come once, hard links only after what they lead to.
    names: HashSet<PathBuf>,
}

// === impl Layer ===

impl Layer {
    pub(super) fn begin(dir: &Path) -> Result<Self> {
        let path = dir.join(TEMPORARY);
        let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
        let compressed = Rc::new(Cell::new(0));
        let below = Hashing::new(BufWriter::new(file), Rc::clone(&compressed));
        let gzip = GzBuilder::new().mtime(0).write(below, Compression::new(LEVEL));
        let tar = Builder::new(Hashing::new(gzip, Rc::default()));
        Ok(Self { tar, dir: dir.to_owned(), compressed, files: 0, names: HashSet::new() })
    }

    pub(super) fn compressed(&self) -> u64 {
        self.compressed.get()
    }

    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Adds what a package has. A hard link to something in another layer is left out.
    pub(super) fn add(&mut self, entry: &mut Entry<'_, impl Read>) -> Result<()> {
        let path: PathBuf = entry.path()?.components().skip_while(|part| part.as_os_str() == ".").collect();
        let kind = entry.header().entry_type();
        if path.as_os_str().is_empty() || self.names.contains(&path) {
            return Ok(());
        }
        let link = entry.link_name()?.map(|link| link.into_owned());
        self.parents(&path)?;
        let mut header = entry.header().clone();
        match (kind, link) {
            (EntryType::Directory, _) => self.tar.append_data(&mut header, &path, io::empty())?,
            (EntryType::Symlink, Some(link)) => self.tar.append_link(&mut header, &path, link)?,
            (EntryType::Link, Some(link)) => {
                let link: PathBuf = link.components().skip_while(|part| part.as_os_str() == ".").collect();
                if !self.names.contains(&link) {
                    return Ok(());
                }
                self.tar.append_link(&mut header, &path, link)?;
            }
            (EntryType::Regular, _) => {
                self.tar.append_data(&mut header, &path, entry)?;
                self.files += 1;
            }
            _ => return Ok(()),
        }
        self.names.insert(path);
        Ok(())
    }

    /// A layer describes the directories above its files, also when an earlier layer did.
    fn parents(&mut self, path: &Path) -> Result<()> {
        let mut above: Vec<&Path> =
            path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
        above.reverse();
        for dir in above {
            if self.names.insert(dir.to_owned()) {
                self.tar.append_data(&mut directory(), dir, io::empty())?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Blob> {
        let packed = self.tar.into_inner().context("finish a layer")?;
        let diff_id = packed.digest();
        let below = packed.into.finish().context("compress a layer")?;
        let digest = below.digest();
        below.into.into_inner().context("write a layer")?;
        let name = digest.trim_start_matches("sha256:");
        fs::rename(self.dir.join(TEMPORARY), self.dir.join(name)).context("name a layer")?;
        Ok(Blob { digest, diff_id, size: self.compressed.get() })
    }
}

fn directory() -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Directory);
    header.set_mode(0o755);
    header.set_size(0);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header
}

/// Hashes and counts what passes.
struct Hashing<W> {
    into: W,
    hash: Sha256,
    count: Rc<Cell<u64>>,
}

// === impl Hashing ===

impl<W> Hashing<W> {
    fn new(into: W, count: Rc<Cell<u64>>) -> Self {
        Self { into, hash: Sha256::new(), count }
    }

    fn digest(&self) -> String {
        text(&self.hash.clone().finalize())
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.into.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.count.set(self.count.get() + written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

pub(super) fn digest_of(bytes: &[u8]) -> String {
    text(&Sha256::digest(bytes))
}

fn text(hash: &[u8]) -> String {
    hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}
