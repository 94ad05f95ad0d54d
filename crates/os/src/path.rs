//! One spelling for a path that can be written in many ways: names that derive from it must not depend on how somebody
//! typed it this time.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::sys;

/// Paths are written as Windows writes them: with drives, backslashes and its own places for state.
pub const WINDOWS: bool = cfg!(windows);

/// The absolute path without links, `..`, or separators at its end; on Windows with the letters as they are on the disk
/// and a drive in front. What does not exist yet is taken as it will be made: below what does.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match sys::path::real(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => below_real(path),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
        found => found,
    }
}

fn below_real(path: PathBuf) -> io::Result<PathBuf> {
    let (Some(parent), Some(last)) = (path.parent(), path.components().next_back()) else { return Ok(path) };
    // A link that leads to no name, as to a pipe: where it stands is all there is to say.
    if std::fs::symlink_metadata(&path).is_ok() {
        return Ok(path);
    }
    let mut found = canonical(parent)?;
    match last {
        Component::Normal(name) => found.push(name),
        Component::ParentDir => drop(found.pop()),
        _ => {}
    }
    Ok(found)
}
