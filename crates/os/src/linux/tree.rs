//! Names below a directory, one `openat` each.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use super::tree_attributes as attributes;
use crate::tree::{Attributes, Child, Marks, Node, Refused, Time};

pub(crate) const FOLDS_CASE: bool = false;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What the process takes away from the modes of new files. Read once: nothing of ours changes it.
static UMASK: LazyLock<u32> = LazyLock::new(|| {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap_or_default();
    u32::from_str_radix(line.trim(), 8).unwrap_or(0o777)
});

/// User and group of the process. Read once: nothing of ours changes them.
static ACCOUNT: LazyLock<(u32, u32)> =
    LazyLock::new(|| (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()));

/// Threads may try at the same time.
static PROBES: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    found: Attributes,
    owner: (u32, u32),
}

pub(crate) fn name(bytes: &[u8]) -> Option<OsString> {
    (!bytes.contains(&0)).then(|| OsString::from_vec(bytes.to_vec()))
}

pub(crate) fn overlay_marks(scratch: &Path) -> io::Result<Marks> {
    let marks = if crate::elevated() { Marks::Trusted } else { Marks::User };
    let at = Dir::open(scratch)?;
    let serial = PROBES.fetch_add(1, Ordering::Relaxed);
    let name = OsString::from(format!("overlay-probe-{}-{serial}", std::process::id()));
    at.remove(&name)?;
    let tried = at.make(&name).and_then(|dir| {
        dir.whiteout(OsStr::new("hidden"))?;
        dir.make_opaque(marks)
    });
    at.remove(&name)?;
    tried.map(|()| marks).map_err(|error| {
        let text = format!("{} takes no marks of overlayfs: {error}", scratch.display());
        io::Error::new(io::ErrorKind::Unsupported, text)
    })
}

// === impl Dir ===

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Dir> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Dir::of(rustix::fs::openat(CWD, path, flags, Mode::empty())?)
    }

    /// A directory that we could not write into is opened to us for as long as we do.
    fn of(fd: OwnedFd) -> io::Result<Dir> {
        let stat = rustix::fs::fstat(&fd)?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        if !mode.contains(Mode::RWXU) && !crate::elevated() {
            rustix::fs::fchmod(&fd, mode | Mode::RWXU)?;
        }
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        let modified = Some(Time { seconds: stat.st_mtime, nanos });
        let found = Attributes { mode: Some(mode.as_raw_mode()), modified, ..Attributes::default() };
        Ok(Dir { fd, found, owner: (stat.st_uid, stat.st_gid) })
    }

    pub(crate) fn child(&self, name: &OsStr) -> io::Result<Child> {
        let open = || rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty());
        let opened = match open() {
            // It is a directory and no link: a link would have been refused as such.
            Err(Errno::ACCESS) => {
                rustix::fs::chmodat(&self.fd, name, Mode::RWXU, AtFlags::empty())?;
                open()
            }
            other => other,
        };
        match opened {
            Ok(fd) => Ok(Child::Directory(Dir::of(fd)?.into())),
            Err(Errno::NOENT) => Ok(Child::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => self.no_directory(name),
            Err(error) => Err(error.into()),
        }
    }

    fn no_directory(&self, name: &OsStr) -> io::Result<Child> {
        match rustix::fs::readlinkat(&self.fd, name, Vec::new()) {
            Ok(target) => Ok(Child::Link(PathBuf::from(OsString::from_vec(target.into_bytes())))),
            Err(Errno::INVAL) => Ok(Child::Other),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn make(&self, name: &OsStr) -> io::Result<Dir> {
        // What most directories are in the end: they need no other mode then. Nobody else comes here.
        rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o755))?;
        Dir::of(rustix::fs::openat(&self.fd, name, DIRECTORY, Mode::empty())?)
    }

    pub(crate) fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let mode = Mode::from_raw_mode(mode & 0o777);
        Ok(rustix::fs::openat(&self.fd, name, NEW_FILE, mode)?.into())
    }

    pub(crate) fn finish(&self, _name: &OsStr, file: File, wanted: &Attributes) -> io::Result<Refused> {
        // The kernel gave the mode already, unless it kept some of it back; a changed owner loses the high bits.
        let kept_back = wanted.mode.is_some_and(|mode| mode & (*UMASK | 0o7000) != 0);
        // New files get the process's group or the directory's: here these are one.
        let given = Some(*ACCOUNT).filter(|(_, group)| *group == self.owner.1);
        attributes::set(&file, wanted, kept_back, wanted.owner != given)
    }

    pub(crate) fn symlink(&self, name: &OsStr, target: &OsStr, _directory: bool) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.fd, name)?)
    }

    pub(crate) fn hard_link(&self, name: &OsStr, from: &Dir, source: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&from.fd, source, &self.fd, name, AtFlags::empty())?)
    }

    pub(crate) fn node(&self, name: &OsStr, node: Node, mode: u32) -> io::Result<()> {
        let (kind, device) = match node {
            Node::Character(major, minor) => (FileType::CharacterDevice, rustix::fs::makedev(major, minor)),
            Node::Block(major, minor) => (FileType::BlockDevice, rustix::fs::makedev(major, minor)),
            Node::Fifo => (FileType::Fifo, 0),
        };
        Ok(rustix::fs::mknodat(&self.fd, name, kind, Mode::from_raw_mode(mode & 0o777), device)?)
    }

    pub(crate) fn set_child(&self, name: &OsStr, wanted: &Attributes) -> io::Result<Refused> {
        attributes::set_at(self.fd.as_fd(), name, wanted, true, true)
    }

    pub(crate) fn set_directory(&self, name: &OsStr, wanted: &Attributes) -> io::Result<Refused> {
        let found = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let given_away = wanted.owner != Some((found.st_uid, found.st_gid));
        let mode = given_away || wanted.mode.is_some_and(|mode| (mode ^ found.st_mode) & 0o7777 != 0);
        attributes::set_at(self.fd.as_fd(), name, wanted, mode, given_away)
    }

    pub(crate) fn set(&self, wanted: &Attributes) -> io::Result<Refused> {
        attributes::set(&self.fd, wanted, true, wanted.owner != Some(self.owner))
    }

    pub(crate) fn found(&self) -> &Attributes {
        &self.found
    }

    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(false),
            Err(_) => super::file::remove(self.fd.as_fd(), &super::spawn::c_string(name)?).map(|()| true),
        }
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                names.push(OsStr::from_bytes(name.to_bytes()).to_owned());
            }
        }
        Ok(names)
    }

    pub(crate) fn same(&self, name: &OsStr, other: &Dir, other_name: &OsStr) -> io::Result<bool> {
        let one = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let two = rustix::fs::statat(&other.fd, other_name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((one.st_dev, one.st_ino) == (two.st_dev, two.st_ino))
    }

    /// The device 0:0 is the one that every account may make.
    pub(crate) fn whiteout(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mknodat(&self.fd, name, FileType::CharacterDevice, Mode::empty(), 0)?)
    }

    pub(crate) fn make_opaque(&self, marks: Marks) -> io::Result<()> {
        let name = match marks {
            Marks::Trusted => "trusted.overlay.opaque",
            Marks::User => "user.overlay.opaque",
        };
        Ok(rustix::fs::fsetxattr(&self.fd, name, b"y", XattrFlags::empty())?)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.fd)?)
    }
}
