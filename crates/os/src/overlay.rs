//! One layer of an overlay, looked at without mounting it.
//!
//! Whoever starts a program must know before whether the layers hold it. What the layers say together is for the
//! caller to conclude; here is what one of them says.

use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// What one layer says about a path. Nothing is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Nothing,
    /// The layers below have nothing there either, whatever they hold.
    Hidden,
    Directory {
        /// What the layers below have in it is not seen.
        opaque: bool,
    },
    /// A link, with the text it holds.
    Link(PathBuf),
    File,
}

/// What the layer has at `inside`, a path whose parents are real directories of the layer or missing.
pub fn look(layer: &Path, inside: &Path) -> io::Result<Said> {
    // With a slash at its end a link would be followed.
    sys::overlay::look(&layer.join(inside.components().as_path()))
}

/// Makes a directory with the owner, mode and time of another one. One that is there gets them too.
pub fn make_like(path: &Path, like: &Path) -> io::Result<()> {
    sys::overlay::make_like(path, like)
}
