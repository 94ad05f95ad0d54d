//! No overlay here: a layer is a plain directory, and nothing in it hides anything.

use std::io;
use std::path::Path;

use crate::overlay::Said;

pub(crate) fn look(path: &Path) -> io::Result<Said> {
    let found = match std::fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Said::Nothing);
        }
        other => other?,
    };
    Ok(if found.is_symlink() {
        Said::Link(std::fs::read_link(path)?)
    } else if found.is_dir() {
        Said::Directory { opaque: false }
    } else {
        Said::File
    })
}

pub(crate) fn make_like(path: &Path, _like: &Path) -> io::Result<()> {
    match std::fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
