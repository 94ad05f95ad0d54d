//! Layers onto a directory, and never outside it.
//!
//! A layer is foreign: its names may climb (`..`), start at the root, pass through links of an earlier
//! layer, or mean something else to the host than to the image. So names are checked before they are
//! joined, and links on the way are followed inside the directory only, as if it were the root.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use tar::{Entry, EntryType};

const WHITEOUT: &str = ".wh.";
const OPAQUE: &str = ".wh..wh..opq";
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// As many links as a kernel follows.
const MOST_LINKS: usize = 40;

/// How a layer's names relate to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Names are paths in the image.
    Plain,
    /// Windows layers keep the image's files under `Files/`, beside `Hives/` and `UtilityVM/`.
    Windows,
}

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the layer is compressed with zstd, which is not supported yet: wanted gzip or plain tar")]
    Compression,
    #[error("the layer is not a readable tar file")]
    Tar(#[source] io::Error),
    #[error("{name:?} would leave the image")]
    Escapes { name: String },
    #[error("{name:?} is a name this system cannot keep apart from another")]
    Name { name: String },
    #[error("{name:?} passes through more than {MOST_LINKS} links")]
    Links { name: String },
    #[error("{name:?} is a {kind}, which an image for a host process cannot bring")]
    Kind { name: String, kind: &'static str },
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
}

/// Applies one layer, compressed or not, on top of what is in `root`.
pub fn apply(layer: impl Read, root: &Path, layout: Layout) -> Result<(), UnpackError> {
    let mut layer = BufReader::with_capacity(64 * 1024, layer);
    let start = layer.fill_buf().map_err(UnpackError::Tar)?;
    if start.starts_with(&ZSTD) {
        Err(UnpackError::Compression)
    } else if start.starts_with(&GZIP) {
        Application::new(root, layout).run(MultiGzDecoder::new(layer))
    } else {
        Application::new(root, layout).run(layer)
    }
}

struct Application<'a> {
    root: &'a Path,
    layout: Layout,
    /// What this layer brought: an opaque mark hides the layers below, not this one.
    brought: BTreeSet<PathBuf>,
}

// === impl Application ===

impl<'a> Application<'a> {
    fn new(root: &'a Path, layout: Layout) -> Self {
        Application { root, layout, brought: BTreeSet::new() }
    }

    fn run(mut self, layer: impl Read) -> Result<(), UnpackError> {
        let mut tar = tar::Archive::new(layer);
        tar.set_preserve_permissions(true);
        tar.set_overwrite(false);
        for entry in tar.entries().map_err(UnpackError::Tar)? {
            self.entry(entry.map_err(UnpackError::Tar)?)?;
        }
        Ok(())
    }

    fn entry<R: Read>(&mut self, mut entry: Entry<'_, R>) -> Result<(), UnpackError> {
        let name = text(&entry.path_bytes());
        let Some(mut parts) = self.parts(&name)? else { return Ok(()) };
        let Some(last) = parts.pop() else { return Ok(()) };
        let parent = self.directory(&parts, &name)?;
        if last == OPAQUE {
            return self.hide_all(&parent);
        }
        if let Some(hidden) = last.strip_prefix(WHITEOUT) {
            check_part(hidden, &name)?;
            return remove(&parent.join(hidden));
        }
        let target = parent.join(&last);
        let written = match entry.header().entry_type() {
            EntryType::Directory if is_directory(&target) => Ok(()),
            EntryType::Link => {
                let source = self.link_source(&entry, &name)?;
                remove(&target)?;
                std::fs::hard_link(source, &target)
            }
            kind => {
                supported(kind, &name)?;
                remove(&target)?;
                entry.unpack(&target).map(drop)
            }
        };
        written.map_err(|source| UnpackError::Write { path: target.clone(), source })?;
        self.brought.insert(target);
        Ok(())
    }

    /// The parts of a name below the image's root, or `None` if it is no file of the image.
    fn parts(&self, name: &str) -> Result<Option<Vec<String>>, UnpackError> {
        let mut parts = Vec::new();
        for component in Path::new(name).components() {
            match component {
                Component::Normal(part) => parts.push(check_part(&part.to_string_lossy(), name)?.to_owned()),
                Component::CurDir | Component::RootDir => {}
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(UnpackError::Escapes { name: name.to_owned() });
                }
            }
        }
        if self.layout == Layout::Windows {
            if parts.first().is_none_or(|first| first != "Files") {
                return Ok(None);
            }
            parts.remove(0);
        }
        Ok(Some(parts))
    }

    /// The real directory of these parts, made where it is missing. Links lead only to places inside.
    fn directory(&self, parts: &[String], name: &str) -> Result<PathBuf, UnpackError> {
        let mut here = self.root.to_owned();
        let mut ahead: Vec<String> = parts.iter().rev().cloned().collect();
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == ".." {
                if here != self.root {
                    here.pop();
                }
                continue;
            }
            let next = here.join(&part);
            match std::fs::symlink_metadata(&next) {
                Ok(found) if found.is_symlink() => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(UnpackError::Links { name: name.to_owned() });
                    }
                    let target = std::fs::read_link(&next)
                        .map_err(|source| UnpackError::Write { path: next.clone(), source })?;
                    if target.has_root() {
                        self.root.clone_into(&mut here);
                    }
                    ahead.extend(steps(&target).into_iter().rev());
                }
                Ok(found) if found.is_dir() => here = next,
                Ok(_) => {
                    remove(&next)?;
                    make_directory(&next)?;
                    here = next;
                }
                Err(_) => {
                    make_directory(&next)?;
                    here = next;
                }
            }
        }
        Ok(here)
    }

    fn link_source<R: Read>(&self, entry: &Entry<'_, R>, name: &str) -> Result<PathBuf, UnpackError> {
        let link = entry.link_name_bytes().map(|bytes| text(&bytes)).unwrap_or_default();
        let escapes = || UnpackError::Escapes { name: format!("{name} -> {link}") };
        let mut parts = self.parts(&link)?.ok_or_else(escapes)?;
        let last = parts.pop().ok_or_else(escapes)?;
        Ok(self.directory(&parts, name)?.join(last))
    }

    fn hide_all(&self, directory: &Path) -> Result<(), UnpackError> {
        let failed = |source| UnpackError::Write { path: directory.to_owned(), source };
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            // A directory of a lower layer stays if this layer put something into it.
            if !self.brought.iter().any(|brought| brought.starts_with(&path)) {
                remove(&path)?;
            } else if is_directory(&path) && !self.brought.contains(&path) {
                self.hide_all(&path)?;
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A part of a name must mean the same to the host as to the image.
fn check_part<'p>(part: &'p str, name: &str) -> Result<&'p str, UnpackError> {
    let on_windows = std::path::MAIN_SEPARATOR == '\\';
    let strange = |c: char| c == '\0' || on_windows && (c.is_control() || "\\:*?\"<>|".contains(c));
    if part.is_empty() || part == "." || part == ".." {
        return Err(UnpackError::Escapes { name: name.to_owned() });
    }
    if part.contains(strange) || on_windows && (is_reserved(part) || part.ends_with([' ', '.'])) {
        return Err(UnpackError::Name { name: name.to_owned() });
    }
    Ok(part)
}

/// Names that mean a device on Windows, in every directory and with any extension.
pub(crate) fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|n| ["1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"].contains(&n))
    };
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str())
        || numbered("COM")
        || numbered("LPT")
}

fn steps(link: &Path) -> Vec<String> {
    let step = |component| match component {
        Component::Normal(part) => Some(part.to_string_lossy().into_owned()),
        Component::ParentDir => Some("..".to_owned()),
        _ => None,
    };
    link.components().filter_map(step).collect()
}

fn supported(kind: EntryType, name: &str) -> Result<(), UnpackError> {
    let kind = match kind {
        EntryType::Char => "character device",
        EntryType::Block => "block device",
        EntryType::Fifo => "fifo",
        _ => return Ok(()),
    };
    Err(UnpackError::Kind { name: name.to_owned(), kind })
}

fn is_directory(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn make_directory(path: &Path) -> Result<(), UnpackError> {
    std::fs::create_dir(path).map_err(|source| UnpackError::Write { path: path.to_owned(), source })
}

/// Removes whatever stands there, without following it.
fn remove(path: &Path) -> Result<(), UnpackError> {
    let removed = if is_directory(path) { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|source| UnpackError::Write { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests;
