//! How much the files of a tree hold, found out by looking at each.

use std::collections::HashSet;
use std::io;
use std::path::Path;

/// What the files hold together, each once, whatever names it has.
pub(crate) fn measure(root: &Path) -> io::Result<u64> {
    let (mut dirs, mut seen, mut size) = (vec![root.to_owned()], HashSet::new(), 0);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                let stamp = os::file::stamp(&entry.path())?;
                size += if seen.insert(stamp.identity()) { stamp.size() } else { 0 };
            }
        }
    }
    Ok(size)
}
