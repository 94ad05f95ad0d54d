//! What a container sees, looked at from outside: its image, its volumes, and the host behind them.

use std::io;
use std::path::{Component, Path, PathBuf};

use images::stack::{Seen, Stack};
use images::{Files, Image};
use plan::Style;
use plan::drive::Root;
use plan::mounts::{Plan, Step};
use plan::start::{self, Found, Start, StartError};
use serde::{Deserialize, Serialize};

use super::{PrepareError, host_style};
use crate::config::Mode;

/// Where a path leads that goes in and out of the image so often, nobody finds out.
const MOST_TURNS: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Room {
    /// Where the container sees its image.
    pub image: PathBuf,
    /// The image's files, the top layer first.
    pub layers: Vec<PathBuf>,
    /// Where everybody sees the files that this container has at `image`; none if nobody does.
    pub copy: Option<PathBuf>,
    /// Volumes, inner ones last.
    pub volumes: Vec<Placed>,
    pub cwd: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    pub at: PathBuf,
    pub source: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("look for {path} in the image")]
pub struct LookError {
    path: PathBuf,
    source: io::Error,
}

// === impl Room ===

impl Room {
    pub(super) fn new(
        image_path: PathBuf,
        image: &Image,
        mode: Mode,
        copy: PathBuf,
    ) -> Result<Room, PrepareError> {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let (layers, copy) = match (&image.files, host_style()) {
            (Files::Dir(files), Style::Unix) => (vec![absolute(files)], None),
            (Files::Layers { lower, .. }, Style::Unix) => (lower.iter().map(absolute).collect(), None),
            (Files::Dir(files), Style::Windows) => {
                let copy = if mode == Mode::Bind { copy } else { image_path.clone() };
                (vec![absolute(files)], Some(copy))
            }
            (Files::Layers { .. }, Style::Windows) => return Err(PrepareError::Layers),
        };
        Ok(Room { image: image_path, layers, copy, volumes: Vec::new(), cwd: PathBuf::new() })
    }

    /// Notes where volumes will be.
    pub(super) fn furnish(&mut self, plan: &Plan) {
        for step in &plan.steps {
            let (at, source) = match step {
                Step::Bind { source, target, .. } => (target, source),
                Step::Link { at, to, .. } => (at, to),
                Step::MakeSource { .. } => continue,
            };
            self.volumes.push(Placed { at: at.into(), source: source.into() });
        }
    }

    /// Which file is run for these words, and where.
    pub fn start(
        &self,
        words: &[String],
        directory: &str,
        path: &str,
        root: Root<'_>,
    ) -> Result<Start, StartError<LookError>> {
        let room = start::Room { root, image: &self.image.to_string_lossy(), path };
        start::host_process(words, directory, &room, |place| {
            self.look(Path::new(place)).map(|seen| match seen {
                Seen::File => Found::File,
                Seen::Directory => Found::Directory,
                Seen::Missing | Seen::Outside(_) => Found::Nothing,
            })
        })
    }

    /// The path under which everybody sees a file that the container sees. Windows starts a program by such a path.
    pub fn for_everybody(&self, path: &Path) -> PathBuf {
        let Some(copy) = &self.copy else { return path.to_owned() };
        if let Some((volume, rest)) = self.in_volume(path) {
            return volume.source.join(rest);
        }
        below(path, &self.image).map_or_else(|| path.to_owned(), |inside| copy.join(inside))
    }

    /// The same for a directory to start in. Where the image is, everybody has a directory.
    pub fn directory_for_everybody(&self, path: &Path) -> PathBuf {
        if path == self.image { path.to_owned() } else { self.for_everybody(path) }
    }

    /// What a path of the container leads to. A link out of the image is the host's, as it will be for the program.
    fn look(&self, path: &Path) -> Result<Seen, LookError> {
        let mut path = path.to_owned();
        for _ in 0..MOST_TURNS {
            if let Some((volume, rest)) = self.in_volume(&path) {
                return Ok(on_host(&volume.source.join(rest)));
            }
            let Some(inside) = below(&path, &self.image) else { return Ok(on_host(&path)) };
            if let [whole] = self.layers.as_slice() {
                return Ok(on_host(&whole.join(inside)));
            }
            let found = Stack::new(&self.layers).resolve(&inside);
            match found.map_err(|source| LookError { path: path.clone(), source })? {
                Seen::Outside(to) => path = self.outside(&to),
                other => return Ok(other),
            }
        }
        Ok(Seen::Missing)
    }

    fn in_volume(&self, path: &Path) -> Option<(&Placed, PathBuf)> {
        self.volumes.iter().rev().find_map(|volume| Some((volume, below(path, &volume.at)?)))
    }

    fn outside(&self, to: &Path) -> PathBuf {
        match to.strip_prefix("..") {
            Ok(rest) => self.image.parent().unwrap_or(&self.image).join(rest),
            Err(_) => to.to_owned(),
        }
    }
}

/// What follows a directory in a path, with names compared as the host compares them.
fn below(path: &Path, directory: &Path) -> Option<PathBuf> {
    let same = |a: &Component<'_>, b: &Component<'_>| match host_style() {
        Style::Unix => a == b,
        Style::Windows => {
            a.as_os_str().to_string_lossy().to_uppercase() == b.as_os_str().to_string_lossy().to_uppercase()
        }
    };
    let mut rest = path.components();
    for part in directory.components() {
        rest.next().filter(|mine| same(mine, &part))?;
    }
    Some(rest.as_path().to_owned())
}

fn on_host(path: &Path) -> Seen {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Seen::Directory,
        Ok(found) if found.is_file() => Seen::File,
        _ => Seen::Missing,
    }
}
