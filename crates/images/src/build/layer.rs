//! A layer as a blob: the same files give the same bytes, wherever and whenever it is written.
//!
//! Entries in order, owned by root, at one time; a gzip header without a name and a time. Windows layers have
//! `Files/` and `Hives/` and, as PAX records, the attributes and security descriptors that Windows' importer reads.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::patient::Patient;
use super::tree::{From, Node, Tree};
use crate::hive;
use crate::progress::Caller;
use crate::security;

/// What a written layer is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) digest: String,
    pub(super) size: u64,
    /// The digest of what is in the gzip.
    pub(super) diff_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Linux,
    /// On layers of others, whose directories keep their modes.
    LinuxOver,
    Windows,
    /// The first layer of a Windows image, which has no `Hives/`: Windows makes those from its files.
    WindowsBase,
}

const ATTRIBUTE_DIRECTORY: u32 = 0x10;
const ATTRIBUTE_ARCHIVE: u32 = 0x20;
const ATTRIBUTE_REPARSE_POINT: u32 = 0x400;
/// A name longer than this does not fit into the header.
const LONGEST_NAME: usize = 100;

// === impl Shape ===

impl Shape {
    fn is_linux(self) -> bool {
        matches!(self, Shape::Linux | Shape::LinuxOver)
    }
}

/// The base layer of a Windows image without an operating system: hives, and nothing else.
pub(super) fn windows_base() -> Tree {
    let mut tree = Tree::new(true);
    for name in hive::NAMES {
        let from = From::Bytes(hive::empty(name));
        tree.put(&format!("{}/{name}", hive::DIRECTORY), Node::File { from, mode: 0o644 });
    }
    tree
}

/// Writes the layer to a file in this directory that is named after its digest.
pub(super) fn write(
    tree: &Tree,
    shape: Shape,
    time: u64,
    blobs: &Path,
    caller: Caller<'_>,
) -> io::Result<Written> {
    let unnamed = blobs.join("layer.unfinished");
    let (packed, plain) = write_to(BufWriter::new(File::create(&unnamed)?), tree, shape, time, caller)?;
    let digest = packed.digest();
    os::file::rename(&unnamed, &blobs.join(digest.trim_start_matches("sha256:")))?;
    Ok(Written { digest, size: packed.size, diff_id: plain })
}

fn write_to<W: Write>(
    to: W,
    tree: &Tree,
    shape: Shape,
    time: u64,
    caller: Caller<'_>,
) -> io::Result<(Hashed<W>, String)> {
    // 255: made on no system in particular.
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Hashed::new(to), Compression::default());
    let mut tar = tar::Builder::new(Hashed::new(gzip));
    if !shape.is_linux() {
        let directory = Node::Directory { mode: 0o755, implied: false };
        let as_top = (Shape::WindowsBase, time);
        entry(&mut tar, "Files", &directory, as_top, caller)?;
        if shape == Shape::Windows {
            entry(&mut tar, "Hives", &directory, as_top, caller)?;
        }
    }
    for (path, node) in tree.iter() {
        let (name, shape) = match shape {
            Shape::LinuxOver if matches!(node, Node::Directory { implied: true, .. }) => continue,
            Shape::Linux | Shape::LinuxOver => (path.to_owned(), shape),
            _ => (format!("Files/{path}"), Shape::Windows),
        };
        entry(&mut tar, &name, node, (shape, time), caller)?;
    }
    let plain = tar.into_inner()?;
    let diff_id = plain.digest();
    let mut packed = GzEncoder::finish(plain.into)?;
    packed.flush()?;
    Ok((packed, diff_id))
}

fn entry<W: Write>(
    tar: &mut tar::Builder<W>,
    path: &str,
    node: &Node,
    (shape, time): (Shape, u64),
    caller: Caller<'_>,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    let mut records = Vec::new();
    let path = match node {
        Node::Directory { mode, .. } => {
            header.set_entry_type(EntryType::Directory);
            header.set_mode(*mode);
            format!("{path}/")
        }
        Node::File { mode, .. } => {
            header.set_entry_type(EntryType::Regular);
            header.set_mode(*mode);
            path.to_owned()
        }
        Node::Link { target, .. } => {
            header.set_entry_type(EntryType::Symlink);
            header.set_mode(0o777);
            put_name(
                &mut header.as_ustar_mut().expect("it is one").linkname,
                "linkpath",
                target,
                &mut records,
            );
            path.to_owned()
        }
    };
    put_name(&mut header.as_ustar_mut().expect("it is one").name, "path", &path, &mut records);
    if !shape.is_linux() {
        records.extend(windows_records(node, shape, time));
    }
    tar.append_pax_extensions(records.iter().map(|(name, value)| (*name, value.as_bytes())))?;
    match node {
        Node::File { from: From::Bytes(bytes), .. } => {
            append(tar, header, bytes.len() as u64, bytes.as_slice())
        }
        Node::File { from: From::Path(path), .. } => {
            let file = File::open(path)?;
            let size = file.metadata()?.len();
            let file = Patient { from: file, caller };
            append(tar, header, size, Exactly { from: file, left: size })
        }
        _ => append(tar, header, 0, io::empty()),
    }
}

fn append<W: Write>(
    tar: &mut tar::Builder<W>,
    mut header: Header,
    size: u64,
    from: impl Read,
) -> io::Result<()> {
    header.set_size(size);
    header.set_cksum();
    tar.append(&header, from)
}

/// Long names and those with other than ASCII characters stand in a record, the header has what fits.
fn put_name(
    field: &mut [u8; LONGEST_NAME],
    key: &'static str,
    name: &str,
    records: &mut Vec<(&'static str, String)>,
) {
    if name.len() > LONGEST_NAME || !name.is_ascii() {
        records.push((key, name.to_owned()));
    }
    let fits: Vec<u8> =
        name.bytes().map(|b| if b.is_ascii() { b } else { b'_' }).take(LONGEST_NAME).collect();
    field[..fits.len()].copy_from_slice(&fits);
}

fn windows_records(node: &Node, shape: Shape, time: u64) -> Vec<(&'static str, String)> {
    let (attributes, descriptor) = match node {
        Node::Directory { .. } => (ATTRIBUTE_DIRECTORY, Some(security::directory())),
        Node::File { .. } => (ATTRIBUTE_ARCHIVE, Some(security::file())),
        Node::Link { directory: true, .. } => (ATTRIBUTE_REPARSE_POINT | ATTRIBUTE_DIRECTORY, None),
        Node::Link { directory: false, .. } => (ATTRIBUTE_REPARSE_POINT, None),
    };
    let mut records = vec![
        ("LIBARCHIVE.creationtime", format!("{time}.0")),
        ("MSWINDOWS.fileattr", attributes.to_string()),
    ];
    // The two directories at the top are the importer's own.
    if let (Some(descriptor), Shape::Windows) = (descriptor, shape) {
        records.push(("MSWINDOWS.rawsd", BASE64_STANDARD.encode(descriptor)));
    }
    records
}

/// A file that changes while it is read must not shift what follows it in the archive.
struct Exactly<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.from.read(&mut buffer[..most])?;
        self.left -= read as u64;
        if read == 0 && most > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
        }
        Ok(read)
    }
}

/// Counts and hashes what passes.
struct Hashed<W> {
    into: W,
    hash: Sha256,
    size: u64,
}

// === impl Hashed ===

impl<W> Hashed<W> {
    fn new(into: W) -> Hashed<W> {
        Hashed { into, hash: Sha256::new(), size: 0 }
    }

    fn digest(&self) -> String {
        super::text_of(&self.hash.clone().finalize())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.into.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

#[cfg(test)]
mod tests;
