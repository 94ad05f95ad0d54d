//! Where a path leads.

use std::io;
use std::path::{Path, PathBuf};

pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}
