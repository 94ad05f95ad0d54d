//! What a layer takes away: files of the layers below, never its own.

use std::collections::BTreeSet;

use os::tree::{Child, Marks};

use super::error::UnpackError;
use super::place::{Place, Spot, joined, name};

const WHITEOUT: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Notes of a file system that once made layers; no names of the image.
const NOTES: &[u8] = b".wh..wh.";

/// What the last part of a name says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'n> {
    Name,
    Hide(&'n [u8]),
    HideAll,
    Note,
}

pub(super) fn read(last: &[u8]) -> Said<'_> {
    if last == OPAQUE {
        Said::HideAll
    } else if last.starts_with(NOTES) {
        Said::Note
    } else {
        last.strip_prefix(WHITEOUT).map_or(Said::Name, Said::Hide)
    }
}

/// Everything that this layer brought, by key.
pub(super) type Brought = BTreeSet<Vec<u8>>;

/// Whether the layer brought this name or something below it.
fn brought(all: &Brought, key: &[u8]) -> bool {
    all.range(key.to_vec()..).next().is_some_and(|next| next.starts_with(key))
}

/// Removes a name that an earlier layer brought.
pub(super) fn remove(
    place: &mut Place<'_>,
    at: &Spot,
    hidden: &[u8],
    own: &Brought,
) -> Result<(), UnpackError> {
    let (key, path) = (place.key(at, hidden), joined(&at.path, hidden));
    if !brought(own, &key) {
        return place.remove(at, hidden);
    }
    match at.dir.child(&name(hidden)?).map_err(place.failed(&path))? {
        Child::Directory(dir) => {
            let inner = place.found(dir, key, path)?;
            remove_all(place, &inner, own)
        }
        _ => Ok(()),
    }
}

/// Removes everything in a directory that an earlier layer brought.
pub(super) fn remove_all(place: &mut Place<'_>, at: &Spot, own: &Brought) -> Result<(), UnpackError> {
    for name in at.dir.names().map_err(place.failed(&at.path))? {
        remove(place, at, &os::tree::bytes(&name), own)?;
    }
    Ok(())
}

/// Marks a name as hidden, for overlayfs. What this layer itself has under that name is seen.
pub(super) fn mark(place: &mut Place<'_>, at: &Spot, hidden: &[u8], marks: Marks) -> Result<(), UnpackError> {
    let (key, path, name) = (place.key(at, hidden), joined(&at.path, hidden), name(hidden)?);
    match at.dir.child(&name).map_err(place.failed(&path))? {
        Child::Missing => at.dir.whiteout(&name).map_err(place.failed(&path))?,
        Child::Directory(dir) => dir.make_opaque(marks).map_err(place.failed(&path))?,
        Child::Link(_) | Child::Other => {}
    }
    place.hide(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_something() {
        assert_eq!(read(b"file"), Said::Name);
        assert_eq!(read(b".wh.file"), Said::Hide(b"file"));
        assert_eq!(read(b".wh..hidden"), Said::Hide(b".hidden"));
        assert_eq!(read(b".wh."), Said::Hide(b""));
        assert_eq!(read(b".wh..wh..opq"), Said::HideAll);
        assert_eq!(read(b".wh..wh.plnk"), Said::Note);
        assert_eq!(read(b".wh..wh..opq2"), Said::Note);
    }
}
