//! The image as one container sees it: what it holds below, what the container writes above.

use std::io;
use std::path::{Path, PathBuf};

use images::stack::{Above, Seen, Stack};
use images::{Files, Image};
use os::process::Overlay;
use plan::Style;
use plan::start::{self, Found, Room, Start, StartError};

use super::{LaunchError, LookError, host_style};

/// Where a path leads that goes in and out of the image so often, nobody finds out.
const MOST_TURNS: usize = 40;

#[derive(Debug)]
pub(super) struct Rootfs {
    pub(super) path: PathBuf,
    /// What can be looked at from here, before the container starts: top first.
    seen: Vec<PathBuf>,
    pub(super) overlay: Option<Overlay>,
}

// === impl Rootfs ===

impl Rootfs {
    /// An overlay where the host has one, else a copy.
    pub(super) fn make(image: &Image, scratch: &Path) -> Result<Rootfs, LaunchError> {
        let made = match host_style() {
            Style::Unix => Rootfs::overlaid(image, scratch),
            Style::Windows => Rootfs::copied(image, scratch),
        };
        made.map_err(|source| LaunchError::Scratch { path: scratch.to_owned(), source })
    }

    fn overlaid(image: &Image, scratch: &Path) -> io::Result<Rootfs> {
        let [upper, work, path] = ["upper", "work", "rootfs"].map(|name| scratch.join(name));
        [&upper, &work, &path].into_iter().try_for_each(std::fs::create_dir_all)?;
        let seen = match &image.files {
            Files::Dir(dir) => vec![std::path::absolute(dir)?],
            Files::Layers { lower, implied } => {
                put_above(&upper, implied)?;
                lower.iter().map(std::path::absolute).collect::<io::Result<_>>()?
            }
        };
        let overlay = Overlay { lower: seen.clone(), upper, work, target: path.clone() };
        Ok(Rootfs { path, seen, overlay: Some(overlay) })
    }

    pub(super) fn copied(image: &Image, scratch: &Path) -> io::Result<Rootfs> {
        let Files::Dir(dir) = &image.files else {
            let text = "the image is in layers, which this host cannot lay one upon the other";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        };
        let path = scratch.join("rootfs");
        copy_tree(dir, &path)?;
        Ok(Rootfs { seen: vec![path.clone()], path, overlay: None })
    }

    /// Which file is run for these words, and where.
    pub(super) fn start(
        &self,
        words: &[String],
        directory: &str,
        path: &str,
    ) -> Result<Start, StartError<LookError>> {
        let room = Room { style: host_style(), image: &self.path.to_string_lossy(), path };
        start::host_process(words, directory, &room, |place| {
            self.look(Path::new(place)).map(|seen| match seen {
                Seen::File => Found::File,
                Seen::Directory => Found::Directory,
                Seen::Missing | Seen::Outside(_) => Found::Nothing,
            })
        })
    }

    /// What a path of the container leads to. A link out of the image is the host's, as it will be for the program.
    fn look(&self, path: &Path) -> Result<Seen, LookError> {
        let mut path = path.to_owned();
        for _ in 0..MOST_TURNS {
            let Ok(inside) = path.strip_prefix(&self.path) else { return Ok(on_host(&path)) };
            if let [whole] = self.seen.as_slice() {
                return Ok(on_host(&whole.join(inside)));
            }
            let found = Stack::new(&self.seen).resolve(inside);
            match found.map_err(|source| LookError { path: path.clone(), source })? {
                Seen::Outside(to) => path = self.outside(&to),
                other => return Ok(other),
            }
        }
        Ok(Seen::Missing)
    }

    fn outside(&self, to: &Path) -> PathBuf {
        match to.strip_prefix("..") {
            Ok(rest) => self.path.parent().unwrap_or(&self.path).join(rest),
            Err(_) => to.to_owned(),
        }
    }
}

fn on_host(path: &Path) -> Seen {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Seen::Directory,
        Ok(found) if found.is_file() => Seen::File,
        _ => Seen::Missing,
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
