//! A container's image made ready: what it holds below, what the container writes above, links in between.

use std::io;
use std::path::{Path, PathBuf};

use images::stack::Above;
use images::{Files, Image};
use os::tree::Dir;
use os::view::Overlay;
use plan::Style;

use super::{Room, host_style};
use crate::layout::ContainerDir;

/// A prepared image.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) overlay: Option<Overlay>,
    /// Where links are put that the container sees in its image.
    links: PathBuf,
}

/// An overlay where the host has one, else a copy.
///
/// What is put above an image is a layer of its own where the scratch directory has a size: that is a file system of
/// the container's own, and nothing that we write before is in it.
pub(crate) fn make(room: &Room, image: &Image, dir: &ContainerDir, sized: bool) -> io::Result<Made> {
    match host_style() {
        Style::Unix => overlaid(room, image, dir, sized),
        Style::Windows => copied(room),
    }
}

fn overlaid(room: &Room, image: &Image, dir: &ContainerDir, sized: bool) -> io::Result<Made> {
    let scratch = dir.scratch();
    let [upper, work] = ["upper", "work"].map(|name| scratch.join(name));
    [&upper, &work].into_iter().try_for_each(std::fs::create_dir_all)?;
    let links = if sized { dir.path().join("above") } else { upper.clone() };
    let mut lower = room.layers.clone();
    if sized {
        std::fs::create_dir_all(&links)?;
        lower.insert(0, links.clone());
    }
    if let Files::Layers { implied, .. } = &image.files {
        put_above(&links, implied)?;
    }
    Ok(Made { overlay: Some(Overlay { lower, upper, work, target: room.image.clone() }), links })
}

fn copied(room: &Room) -> io::Result<Made> {
    let ([files], Some(copy)) = (room.layers.as_slice(), &room.copy) else {
        let text = "the image is in layers, which this host cannot lay one upon the other";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    };
    copy_tree(files, copy)?;
    Ok(Made { overlay: None, links: copy.clone() })
}

impl Made {
    /// Puts a link into the image, over whatever the image has there.
    pub(crate) fn link(&self, inside: &Path, to: &Path, file: bool, layers: &[PathBuf]) -> io::Result<()> {
        let mut parent = self.links.clone();
        let parts: Vec<_> = inside.components().collect();
        let Some((name, way)) = parts.split_last() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut passed = PathBuf::new();
        for part in way {
            passed.push(part);
            parent.push(part);
            let below = layers.iter().map(|layer| layer.join(&passed)).find(|path| path.is_dir());
            match below {
                // A directory of the image keeps its looks.
                Some(like) if !parent.exists() && self.overlay.is_some() => {
                    os::overlay::make_like(&parent, &like)?
                }
                _ => std::fs::create_dir_all(&parent)?,
            }
        }
        let place = parent.join(name);
        os::file::remove_tree(&place)?;
        Dir::open(&parent)?.symlink(name.as_os_str(), to.as_os_str(), !file)
    }
}

/// Last first when they get their attributes: a closed directory takes no further ones, and each would change the
/// time of the one it is in.
fn put_above(upper: &Path, above: &[Above]) -> io::Result<()> {
    for each in above {
        match std::fs::create_dir(upper.join(&each.path)) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    above.iter().rev().try_for_each(|each| os::overlay::make_like(&upper.join(&each.path), &each.like))
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            if entry.file_type()?.is_symlink() {
                let text = format!("{} is a link to a directory, which a copy cannot keep", source.display());
                return Err(io::Error::new(io::ErrorKind::Unsupported, text));
            }
            copy_tree(&source, &target)?;
        } else {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
