//! What the processes of one job see of the file system beyond the host's: an image, volumes, a bounded scratch space.
//!
//! A view belongs to its job and to nobody else: the host's own paths stay as they are, and two jobs may have
//! different things at one path (HP-11). The first process of a job brings the view, all later ones see the same.
//!
//! | | Linux | Windows |
//! |---|---|---|
//! | where it lives | a private mount namespace, kept by the job | a silo, which the job becomes |
//! | image | an overlay | one more [`Bind`] |
//! | volumes | recursive bind mounts | mappings of the bind filter |
//! | mounts that come later | passed on as a [`Bind`] asks | there are none |
//! | scratch | a tmpfs of that size, counted as the job's memory | no way to bound it |

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    pub overlay: Option<Overlay>,
    /// In this order: a later one may lie in an earlier one.
    pub binds: Vec<Bind>,
    /// How much may be written above the image's layers. The directory that holds `overlay.upper` is then covered by a
    /// file system of that size, which ends with the job; what is in `upper` before is seen and not changed.
    pub scratch_bytes: Option<u64>,
    /// Nothing can be written into the overlay; what is bound below it stays as it says.
    pub readonly_image: bool,
}

/// An overlay file system. Linux only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// Top layer first.
    pub lower: Vec<PathBuf>,
    pub upper: PathBuf,
    pub work: PathBuf,
    pub target: PathBuf,
}

/// A path of the host that is seen at another path too.
///
/// The target must exist, unless it lies below `overlay.target` or below an earlier bind's target: there it is made as
/// needed, which for the latter is in that bind's source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// As the host sees it, whatever the other binds cover.
    pub source: PathBuf,
    pub target: PathBuf,
    /// With everything that is mounted below the source, unless it is `shallow`.
    #[serde(default)]
    pub readonly: bool,
    /// What is mounted below the source stays as it is. Windows knows no such difference.
    #[serde(default)]
    pub shallow: bool,
    #[serde(default)]
    pub propagation: Propagation,
    /// A single file, not a directory.
    #[serde(default)]
    pub file: bool,
}

/// What becomes of mounts that are made in a bind, or in its source, while the job runs. Linux only, but for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// Each side has its own.
    #[default]
    Private,
    /// The job sees what the host mounts. Wants a source that [hears or shares](Peers).
    Slave,
    /// The host sees what the job mounts too, and keeps it. Wants a source that [shares](Peers). Another bind that lies
    /// in such a one would be the host's as well: that is for the caller to avoid.
    Shared,
}

/// What a job can have of the mounts that are made below a path later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Peers {
    #[default]
    None,
    Hears,
    Shares,
}

/// Looks at the mount that a path is on, or will be on once it is made.
pub fn peers(path: &Path) -> io::Result<Peers> {
    sys::view::peers(path)
}

/// Whether a job can have binds here; otherwise why not. Tried once per process.
pub fn bind_works() -> Result<(), String> {
    sys::view::bind_works()
}

// === impl Propagation ===

impl Propagation {
    pub fn is_private(&self) -> bool {
        *self == Self::Private
    }
}

// === impl View ===

impl View {
    /// Nothing but what the host has.
    pub fn is_the_hosts(&self) -> bool {
        *self == Self::default()
    }
}
