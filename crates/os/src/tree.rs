//! Foreign names below a directory: what is written there stays there.
//!
//! A [`Dir`] is a directory that was reached without following a link, and each call takes one name in it. On Linux
//! it is a descriptor and the kernel resolves that one name; on Windows it is a path whose every part was looked at.
//! Who calls this (unpacking of image layers) checks what names mean; nothing here joins or splits them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::sys;

/// A real directory below which names are written.
#[derive(Debug)]
pub struct Dir(sys::tree::Dir);

/// What a name in a directory stands for, without following it.
#[derive(Debug)]
pub enum Child {
    Directory(Dir),
    /// A link, with the text it holds.
    Link(PathBuf),
    Other,
    Missing,
}

/// A file that is no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    Character(u32, u32),
    Block(u32, u32),
    Fifo,
}

/// Seconds since 1970 and what is beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    pub seconds: i64,
    pub nanos: u32,
}

/// What a file is given besides its content. Each system takes what it knows.
#[derive(Debug, Clone, Default)]
pub struct Attributes {
    pub mode: Option<u32>,
    /// User and group; only root can give files away.
    pub owner: Option<(u32, u32)>,
    pub modified: Option<Time>,
    pub created: Option<Time>,
    pub extended: Vec<(OsString, Vec<u8>)>,
    /// The attribute bits of Windows.
    pub bits: Option<u32>,
    pub descriptor: Option<Descriptor>,
}

/// A security descriptor, of which the list of who may do what is used. The owner stays ours.
#[derive(Debug, Clone)]
pub enum Descriptor {
    SelfRelative(Vec<u8>),
    Text(String),
}

/// Under which names overlayfs looks for its marks: those of root, or those of anybody (`userxattr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    Trusted,
    User,
}

/// What the file system or our account refused: the attribute and why. The file itself is there.
pub type Refused = Vec<(String, io::Error)>;

/// Whether two names that differ only in case are one file here.
pub const FOLDS_CASE: bool = sys::tree::FOLDS_CASE;

/// A name made of the bytes of an archive, if this system can hold it.
pub fn name(bytes: &[u8]) -> Option<OsString> {
    sys::tree::name(bytes)
}

/// The bytes of a name, as archives write them.
pub fn bytes(name: &OsStr) -> Vec<u8> {
    name.as_encoded_bytes().to_vec()
}

/// Whether layers below `scratch` can carry the marks of overlayfs: tried there, and removed again.
/// A host without them answers [`io::ErrorKind::Unsupported`].
pub fn overlay_marks(scratch: &Path) -> io::Result<Marks> {
    sys::tree::overlay_marks(scratch)
}

// === impl Dir ===

impl Dir {
    /// The directory at a path of ours, which may lead through links.
    pub fn open(path: &Path) -> io::Result<Dir> {
        sys::tree::Dir::open(path).map(Dir)
    }

    pub fn child(&self, name: &OsStr) -> io::Result<Child> {
        self.0.child(name)
    }

    /// A new directory, open to us alone until [`Dir::set`].
    pub fn make(&self, name: &OsStr) -> io::Result<Dir> {
        self.0.make(name).map(Dir)
    }

    /// A new file; one that is there is an error. `mode` is what [`Dir::finish`] will ask for.
    pub fn create(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        self.0.create(name, mode)
    }

    /// Gives a file of this directory its attributes and closes it.
    pub fn finish(&self, name: &OsStr, file: File, attributes: &Attributes) -> io::Result<Refused> {
        self.0.finish(name, file, attributes)
    }

    /// A link; `directory` says what it leads to, which only Windows wants to know.
    pub fn symlink(&self, name: &OsStr, target: &OsStr, directory: bool) -> io::Result<()> {
        self.0.symlink(name, target, directory)
    }

    /// A second name for a file. A link gets a second name itself, it is not followed.
    pub fn hard_link(&self, name: &OsStr, from: &Dir, source: &OsStr) -> io::Result<()> {
        self.0.hard_link(name, &from.0, source)
    }

    pub fn node(&self, name: &OsStr, node: Node, mode: u32) -> io::Result<()> {
        self.0.node(name, node, mode)
    }

    /// Gives something that is no regular file its attributes, without following it.
    pub fn set_child(&self, name: &OsStr, attributes: &Attributes) -> io::Result<Refused> {
        self.0.set_child(name, attributes)
    }

    /// The same for a directory in it, which is not opened for that.
    pub fn set_directory(&self, name: &OsStr, attributes: &Attributes) -> io::Result<Refused> {
        self.0.set_directory(name, attributes)
    }

    /// Gives the directory itself its attributes.
    pub fn set(&self, attributes: &Attributes) -> io::Result<Refused> {
        self.0.set(attributes)
    }

    /// Mode and times that the directory had when it was opened.
    pub fn found(&self) -> &Attributes {
        self.0.found()
    }

    /// Removes whatever has this name, with all that is in it and without following it. Says whether a directory went.
    pub fn remove(&self, name: &OsStr) -> io::Result<bool> {
        self.0.remove(name)
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.0.names()
    }

    /// Whether both names are one file.
    pub fn same(&self, name: &OsStr, other: &Dir, other_name: &OsStr) -> io::Result<bool> {
        self.0.same(name, &other.0, other_name)
    }

    /// Hides a name of the layers below, for overlayfs.
    pub fn whiteout(&self, name: &OsStr) -> io::Result<()> {
        self.0.whiteout(name)
    }

    /// Hides everything of the layers below in this directory, for overlayfs.
    pub fn make_opaque(&self, marks: Marks) -> io::Result<()> {
        self.0.make_opaque(marks)
    }

    /// Everything written to this file system is on the disk afterwards, as far as the system can be asked for that.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl From<sys::tree::Dir> for Dir {
    fn from(dir: sys::tree::Dir) -> Dir {
        Dir(dir)
    }
}
