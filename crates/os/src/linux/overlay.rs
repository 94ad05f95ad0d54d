//! The marks of overlayfs, read.

use std::fs::FileTimes;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::io::Errno;

use crate::overlay::Said;

pub(crate) fn look(path: &Path) -> io::Result<Said> {
    let found = match std::fs::symlink_metadata(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Said::Nothing);
        }
        other => other?,
    };
    let kind = found.file_type();
    Ok(if kind.is_dir() {
        Said::Directory { opaque: is_opaque(path)? }
    } else if kind.is_symlink() {
        Said::Link(std::fs::read_link(path)?)
    } else if kind.is_char_device() && found.rdev() == 0 {
        Said::Hidden
    } else {
        Said::File
    })
}

/// The same choice of names as when the mark was made.
fn is_opaque(path: &Path) -> io::Result<bool> {
    let name = if crate::elevated() { "trusted.overlay.opaque" } else { "user.overlay.opaque" };
    let mut value = [0; 1];
    match rustix::fs::lgetxattr(path, name, &mut value[..]) {
        Ok(_) => Ok(value == *b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        // Longer than the one letter that means it.
        Err(Errno::RANGE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn make_like(path: &Path, like: &Path) -> io::Result<()> {
    let like = std::fs::metadata(like)?;
    match std::fs::create_dir(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        other => other?,
    }
    if crate::elevated() {
        std::os::unix::fs::chown(path, Some(like.uid()), Some(like.gid()))?;
    }
    std::fs::set_permissions(path, like.permissions())?;
    std::fs::File::open(path)?.set_times(FileTimes::new().set_modified(like.modified()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::tree::{Dir, overlay_marks};

    #[test]
    fn every_mark_is_read_as_it_was_made() {
        let dir = tempfile::tempdir().unwrap();
        let (root, marks) = (Dir::open(dir.path()).unwrap(), overlay_marks(dir.path()).unwrap());
        root.whiteout("gone".as_ref()).unwrap();
        root.make("alone".as_ref()).unwrap().make_opaque(marks).unwrap();
        root.make("merged".as_ref()).unwrap();
        std::os::unix::fs::symlink("to", dir.path().join("link")).unwrap();
        std::fs::write(dir.path().join("file"), "").unwrap();
        for (name, expected) in [
            ("gone", Said::Hidden),
            ("alone", Said::Directory { opaque: true }),
            ("merged", Said::Directory { opaque: false }),
            ("link", Said::Link("to".into())),
            ("link/", Said::Link("to".into())),
            ("file", Said::File),
            ("nothing", Said::Nothing),
            ("file/below", Said::Nothing),
        ] {
            assert_eq!(crate::overlay::look(dir.path(), Path::new(name)).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn a_directory_is_made_like_another() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
        std::fs::create_dir(&one).unwrap();
        std::fs::set_permissions(&one, PermissionsExt::from_mode(0o1750)).unwrap();
        if crate::elevated() {
            std::os::unix::fs::chown(&one, Some(1000), Some(2000)).unwrap();
        }
        make_like(&two, &one).unwrap();
        let facts = |path: &Path| {
            let found = std::fs::metadata(path).unwrap();
            (found.mode(), found.uid(), found.gid(), found.modified().unwrap())
        };
        assert_eq!(facts(&two), facts(&one));
        make_like(&two, &one).unwrap();
    }
}
