//! `COPY` and `ADD`: files of a directory into a layer.

mod find;
mod root;

use std::fs::Metadata;
use std::io::Read;
use std::path::Path;

use tar::{Header, HeaderMode};

use super::BuildError;
use super::glob::Glob;
use super::ignore::{Above, Ignore};
use super::path::{Place, windows_takes};
use super::tree::{From, Node, Tree};
pub(super) use root::Root;

/// Where files come from, and how they are to be.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    pub(super) line: usize,
    pub(super) root: Root<'a>,
    pub(super) ignore: &'a Ignore,
    pub(super) exclude: Vec<Glob>,
    pub(super) chmod: Option<u32>,
    pub(super) windows: bool,
    /// `ADD`, which would unpack archives.
    pub(super) add: bool,
    /// Directories that earlier instructions made.
    pub(super) known: &'a Tree,
}

/// A file or directory of the source, by its path from the root.
#[derive(Debug)]
struct Found {
    relative: String,
    above: Above,
}

// === impl Copying ===

impl Copying<'_> {
    /// Puts what the sources name to the target. `false` if that is nothing: no pattern matches, or all is excluded.
    pub(super) fn add(
        &self,
        sources: &[String],
        target: &Place,
        tree: &mut Tree,
    ) -> Result<bool, BuildError> {
        let mut found = Vec::new();
        for source in sources {
            found.extend(self.find(source)?);
        }
        let directory =
            target.directory || tree.is_directory(&target.path) || self.known.is_directory(&target.path);
        if found.len() > 1 && !directory {
            return Err(BuildError::ManyToOne { line: self.line, target: target.path.clone() });
        }
        for each in &found {
            let path = self.inside(&each.relative)?;
            let metadata =
                path.metadata().map_err(|source| BuildError::Read { path: path.clone(), source })?;
            if metadata.is_dir() {
                tree.directory(&target.path);
                self.directory(&path, each, &target.path, tree)?;
            } else {
                self.check_add(&path, each)?;
                let name = name_of(&each.relative);
                let to = if directory { joined(&target.path, name) } else { target.path.clone() };
                self.file(&path, &metadata, &each.relative, &to, tree)?;
            }
        }
        Ok(!found.is_empty())
    }

    fn check_add(&self, path: &Path, found: &Found) -> Result<(), BuildError> {
        if !self.add
            || !is_archive(path).map_err(|source| BuildError::Read { path: path.to_owned(), source })?
        {
            return Ok(());
        }
        let (line, source_name, what) = (self.line, found.relative.clone(), "unpack it");
        Err(BuildError::Add { line, source_name, what, instead: "unpack it before, or COPY it as it is" })
    }

    fn directory(&self, dir: &Path, of: &Found, target: &str, tree: &mut Tree) -> Result<(), BuildError> {
        for name in self.names(dir)? {
            let relative = joined(&of.relative, &name);
            let (out, above) = self.ignore.leaves_out(&relative, &of.above);
            let path = dir.join(&name);
            let to = joined(target, &name);
            let metadata =
                path.symlink_metadata().map_err(|source| BuildError::Read { path: path.clone(), source })?;
            if self.excludes(&relative) {
                continue;
            }
            if metadata.is_dir() {
                if !out {
                    tree.directory(&to);
                }
                if !out || self.ignore.has_exceptions() {
                    self.directory(&path, &Found { relative, above }, &to, tree)?;
                }
            } else if !out {
                self.file(&path, &metadata, &relative, &to, tree)?;
            }
        }
        Ok(())
    }

    fn file(
        &self,
        path: &Path,
        metadata: &Metadata,
        relative: &str,
        to: &str,
        tree: &mut Tree,
    ) -> Result<(), BuildError> {
        if let Some(part) = to.split('/').find(|part| self.windows && !windows_takes(part)) {
            let source = super::PathError::Name { path: to.to_owned(), part: part.to_owned() };
            return Err(BuildError::Path { line: self.line, source });
        }
        let node = if metadata.is_symlink() {
            let target = std::fs::read_link(path)
                .map_err(|source| BuildError::Read { path: path.to_owned(), source })?;
            let target = slashed(self.text(&target)?, self.root.has_backslashes());
            Node::Link { target, directory: self.is_directory(relative) }
        } else if metadata.is_file() {
            Node::File { from: From::Path(path.to_owned()), mode: self.mode(metadata) }
        } else {
            return Err(BuildError::Kind { line: self.line, path: path.to_owned() });
        };
        tree.put(to, node);
        Ok(())
    }

    /// Whether it can be run is all that is kept of a file's mode: the rest differs from machine to machine.
    fn mode(&self, metadata: &Metadata) -> u32 {
        const PLAIN: u32 = 0o644;
        if self.windows {
            return PLAIN;
        }
        self.chmod.unwrap_or_else(|| {
            let mut header = Header::new_ustar();
            header.set_metadata_in_mode(metadata, HeaderMode::Deterministic);
            header.mode().unwrap_or(PLAIN)
        })
    }
}

/// By its first bytes: a tar file, or something that may be a packed one.
fn is_archive(path: &Path) -> std::io::Result<bool> {
    const PACKED: [&[u8]; 4] = [b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"];
    const TAR_AT: usize = 257;
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(512).read_to_end(&mut start)?;
    Ok(PACKED.iter().any(|magic| start.starts_with(magic))
        || start.get(TAR_AT..).is_some_and(|s| s.starts_with(b"ustar")))
}

/// A link's text as images have it. On Linux a backslash is a letter like any other, as in systemd's names of units.
fn slashed(text: String, backslashes: bool) -> String {
    if backslashes { text.replace('\\', "/") } else { text }
}

fn name_of(relative: &str) -> &str {
    relative.rsplit('/').next().unwrap_or_default()
}

fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests;
