//! The directory that sources are in, and where its links lead.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use super::super::{BuildError, links, site};
use super::Copying;
use crate::unpack::Names;

/// A directory with sources.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Root<'a> {
    /// Of this host, by whose root its links are followed. What leads out of it is refused.
    Host(&'a Path),
    /// The files of an image, in which its links are followed as its system reads them. This host follows none of
    /// them: they would lead to its own files.
    Image { dir: &'a Path, windows: bool },
}

// === impl Root ===

impl<'a> Root<'a> {
    pub(super) fn dir(self) -> &'a Path {
        match self {
            Self::Host(dir) | Self::Image { dir, .. } => dir,
        }
    }

    /// Whether a backslash in a link is a separator. A layer of Windows may write one, and it stays one on Linux; this
    /// host, if it is Windows, has made one of every slash.
    pub(super) fn has_backslashes(self) -> bool {
        os::path::WINDOWS || matches!(self, Self::Image { windows: true, .. })
    }
}

// === impl Copying ===

impl Copying<'_> {
    /// Where to look for a path from the root. Of an image this has no links any more.
    pub(super) fn at(&self, relative: &str) -> Result<PathBuf, BuildError> {
        let Root::Image { dir, .. } = self.root else { return Ok(self.root.dir().join(relative)) };
        let real = links::real(relative, |path| self.link(&dir.join(path)).map(|text| text.map(Cow::Owned)))?;
        real.map(|real| dir.join(real)).ok_or_else(|| BuildError::Read {
            path: dir.join(relative),
            source: io::Error::other("links lead round in a circle, or further than any system follows"),
        })
    }

    /// The same for what is copied: follows all its links, but not out of the root.
    pub(super) fn inside(&self, relative: &str) -> Result<PathBuf, BuildError> {
        let failed = |path: &Path, source| BuildError::Read { path: path.to_owned(), source };
        let path = self.at(relative)?;
        let Root::Host(root) = self.root else { return Ok(path) };
        let root = root.canonicalize().map_err(|e| failed(root, e))?;
        let real = path.canonicalize().map_err(|e| failed(&path, e))?;
        if real.starts_with(&root) { Ok(real) } else { Err(BuildError::Outside { line: self.line, path }) }
    }

    /// Whether there is a directory, perhaps behind links.
    pub(super) fn is_directory(&self, relative: &str) -> bool {
        self.at(relative).is_ok_and(|path| path.is_dir())
    }

    /// What a link says as the image has it, with slashes and without a drive; `None` if it is no link.
    fn link(&self, path: &Path) -> Result<Option<String>, BuildError> {
        let failed = |source| BuildError::Read { path: path.to_owned(), source };
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {}
            Err(e) if !is_nothing(&e) => return Err(failed(e)),
            _ => return Ok(None),
        }
        let text = path.read_link().map_err(failed)?;
        let names = Names { windows: self.root.has_backslashes(), ..Names::of_this_host() };
        let way = names.way(&os::tree::bytes(text.as_os_str()));
        let way = way.map_err(|why| failed(io::Error::other(why)))?;
        let steps = String::from_utf8(way.steps.join(&b'/'));
        let steps = steps.map_err(|_| BuildError::NotText { line: self.line, path: path.to_owned() })?;
        Ok(Some(if way.rooted { format!("/{steps}") } else { steps }))
    }

    pub(super) fn names(&self, dir: &Path) -> Result<Vec<String>, BuildError> {
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
            Err(e) if is_nothing(&e) => {}
            Err(source) => return Err(failed(source)),
        }
        names.sort();
        Ok(names)
    }

    pub(super) fn text(&self, path: &Path) -> Result<String, BuildError> {
        let text = path.to_str().map(str::to_owned);
        text.ok_or_else(|| BuildError::NotText { line: self.line, path: path.to_owned() })
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound)
}
