//! `COPY` and `ADD`: files of a directory into a layer.

use std::fs::Metadata;
use std::io::Read;
use std::path::{Path, PathBuf};

use tar::{Header, HeaderMode};

use super::BuildError;
use super::glob::Glob;
use super::ignore::{Above, Ignore};
use super::path::{Place, windows_takes};
use super::site;
use super::tree::{From, Node, Tree};

/// Where files come from, and how they are to be.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    pub(super) line: usize,
    pub(super) root: &'a Path,
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
                self.file(&path, &metadata, &to, tree)?;
            }
        }
        Ok(!found.is_empty())
    }

    /// What a source names: itself, or what its pattern matches.
    fn find(&self, source: &str) -> Result<Vec<Found>, BuildError> {
        let mut here = vec![Found { relative: String::new(), above: Above::default() }];
        let mut plain = true;
        for part in parts_of(source) {
            let glob = Glob::parse(part, false)
                .ok_or_else(|| BuildError::Pattern { line: self.line, pattern: source.to_owned() })?;
            plain &= glob.is_plain();
            let mut next = Vec::new();
            for found in &here {
                next.extend(self.below(found, &glob)?);
            }
            here = next;
        }
        let mut kept = self.kept(here);
        if plain && kept.is_empty() {
            return Err(self.missing(source));
        }
        // A directory that a source names is copied whatever its name: what is excluded is something in it.
        kept.retain(|each| !self.excludes(&each.relative) || self.root.join(&each.relative).is_dir());
        Ok(kept)
    }

    fn below(&self, found: &Found, glob: &Glob) -> Result<Vec<Found>, BuildError> {
        let names = self.names(&self.root.join(&found.relative))?;
        let matching = names.into_iter().filter(|name| glob.matches(name));
        Ok(matching
            .map(|name| {
                let relative = joined(&found.relative, &name);
                let (_, above) = self.ignore.leaves_out(&relative, &found.above);
                Found { relative, above }
            })
            .collect())
    }

    /// Without what is ignored. A directory whose content may come back stays.
    fn kept(&self, mut found: Vec<Found>) -> Vec<Found> {
        found.retain(|each| {
            let left_out = !each.relative.is_empty() && self.left_out(&each.relative);
            !left_out || self.ignore.has_exceptions() && self.root.join(&each.relative).is_dir()
        });
        found
    }

    fn left_out(&self, relative: &str) -> bool {
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        let (mut out, mut above) = (false, Above::default());
        for end in ends {
            (out, above) = self.ignore.leaves_out(&relative[..end], &above);
        }
        out
    }

    /// By the path from the root, or by the name, however deep.
    fn excludes(&self, relative: &str) -> bool {
        self.exclude.iter().any(|glob| glob.matches(relative) || glob.matches(name_of(relative)))
    }

    fn missing(&self, source: &str) -> BuildError {
        let relative = parts_of(source).join("/");
        let ignored = self.root.join(&relative).symlink_metadata().is_ok();
        let root = self.root.to_owned();
        BuildError::Missing { line: self.line, source_name: source.to_owned(), root, ignored }
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
                self.file(&path, &metadata, &to, tree)?;
            }
        }
        Ok(())
    }

    fn file(&self, path: &Path, metadata: &Metadata, to: &str, tree: &mut Tree) -> Result<(), BuildError> {
        if let Some(part) = to.split('/').find(|part| self.windows && !windows_takes(part)) {
            let source = super::PathError::Name { path: to.to_owned(), part: part.to_owned() };
            return Err(BuildError::Path { line: self.line, source });
        }
        let node = if metadata.is_symlink() {
            let target = std::fs::read_link(path)
                .map_err(|source| BuildError::Read { path: path.to_owned(), source })?;
            let text = self.text(&target)?;
            Node::Link { target: text.replace('\\', "/"), directory: path.is_dir() }
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

    /// Follows the links of a source, but not out of the root.
    fn inside(&self, relative: &str) -> Result<PathBuf, BuildError> {
        let failed = |path: &Path, source| BuildError::Read { path: path.to_owned(), source };
        let path = self.root.join(relative);
        let root = self.root.canonicalize().map_err(|e| failed(self.root, e))?;
        let real = path.canonicalize().map_err(|e| failed(&path, e))?;
        if real.starts_with(&root) { Ok(real) } else { Err(BuildError::Outside { line: self.line, path }) }
    }

    fn names(&self, dir: &Path) -> Result<Vec<String>, BuildError> {
        let failed = |source| BuildError::Read { path: dir.to_owned(), source };
        let mut names = Vec::new();
        match std::fs::read_dir(dir) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(failed)?;
                    // Where this build, or another, is made may be inside of what it is made from.
                    if site::state(&entry).is_none() {
                        names.push(self.text(Path::new(&entry.file_name()))?);
                    }
                }
            }
            // A part of a path that is no directory has nothing below it.
            Err(e)
                if matches!(e.kind(), std::io::ErrorKind::NotADirectory | std::io::ErrorKind::NotFound) => {}
            Err(source) => return Err(failed(source)),
        }
        names.sort();
        Ok(names)
    }

    fn text(&self, path: &Path) -> Result<String, BuildError> {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| BuildError::NotText { line: self.line, path: path.to_owned() })
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

/// Sources cannot climb: what is above the root is the root.
fn parts_of(source: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

fn name_of(relative: &str) -> &str {
    relative.rsplit('/').next().unwrap_or_default()
}

fn joined(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests;
