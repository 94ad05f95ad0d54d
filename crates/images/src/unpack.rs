//! Layers onto a directory, and never outside it.
//!
//! A layer is foreign: its names may climb (`..`), start at the root, pass through links of an earlier layer, or mean
//! something else to the host than to the image; its sizes may lie and its bytes may never end. So names are checked
//! before they are used, links on the way are followed inside the directory only, as if it were the root, every name
//! is resolved by handle, and everything that grows has a limit.
//!
//! | module | what it knows |
//! |---|---|
//! | `stream` | bytes → decompressed and hashed bytes |
//! | `compression` | which of gzip, zstd and plain a layer is |
//! | `gzip` | gzip around raw deflate |
//! | `members`, `pax`, `sparse` | headers: what the next entry is |
//! | `name` | which names this host can hold apart |
//! | `place` | directories below the root, each opened once |
//! | `trail` | the same directories at the end, when they get their attributes |
//! | `application` | entries become files; whiteouts take effect |
//! | `budget` | how much may be remembered of names |
//! | `later` | small files are finished in a thread of their own |
//! | `listing` | names only |
//! | `index` | where bodies are in a tar file that is read in place |
//! | `crowd` | whether a core is to spare for such a thread |

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use os::tree::Marks;

pub(crate) use budget::Budget;
pub(crate) use compression::{Compression, detect};
pub(crate) use crowd::Crowd;
pub use error::UnpackError;
pub(crate) use index::{At, Index, Indexed};
pub(crate) use listing::{Listed, list};
pub use name::Names;
pub(crate) use name::is_reserved;

use application::Application;

mod application;
mod attributes;
mod budget;
mod compression;
mod crowd;
mod error;
mod gzip;
mod index;
mod later;
mod listing;
mod members;
mod name;
mod pax;
mod place;
mod sparse;
mod stream;
mod trail;

mod whiteout;

/// How a layer's names relate to the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Names are paths in the image.
    Plain,
    /// Windows layers keep the image's files under `Files/`, beside `Hives/` and `UtilityVM/`.
    Windows,
}

/// What the directory is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The whole image, layer on layer: a whiteout removes what an earlier layer brought.
    Flat,
    /// One layer alone, to be stacked by overlayfs: a whiteout is a mark. See [`os::tree::overlay_marks`].
    Overlay(Marks),
}

/// What a layer may cost at most. A layer that wants more is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub entries: u64,
    /// Decompressed; no file with holes may be larger either.
    pub bytes: u64,
    /// Of a name or a link's text.
    pub path: usize,
    /// Directories in directories, after links were followed.
    pub depth: usize,
    /// Of an extension header (long names, attributes) of one entry, in memory.
    pub header: usize,
    /// Of what must be known of all names until the layer ends, in memory. The layers of a pull that come side by side
    /// share a smaller one.
    pub names: usize,
}

/// How a layer is unpacked. `Unpack::default()` makes a flat directory for this host.
#[derive(Debug, Clone, Copy)]
pub struct Unpack<'a> {
    pub target: Target,
    pub layout: Layout,
    /// From the layer's descriptor: a layer that says it is compressed and is not is an error.
    pub media_type: Option<&'a str>,
    pub limits: Limits,
    pub names: Names,
    /// Whether everything is on the disk when it is done.
    pub sync: bool,
}

/// What became of a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The digest of the decompressed bytes, all of them: to be compared with the configuration's diff id.
    pub diff_id: String,
    pub entries: u64,
    /// Decompressed bytes.
    pub bytes: u64,
    /// What the files hold together that the layer brought.
    pub size: u64,
    /// Whether names were taken away or given to something else: `size` counts what had them too.
    pub replaced: bool,
    /// Directories that had to be made although the layer does not describe them. In a stack of layers they hide mode
    /// and owner of the same directory below.
    pub implied: Vec<PathBuf>,
    /// What could not be kept, by entry; the first [`MOST_WARNINGS`] of them.
    pub warnings: Vec<String>,
}

/// After so many warnings a layer's further ones are not kept.
pub const MOST_WARNINGS: usize = 100;

/// Applies one layer, compressed or not, on top of what is in `root`.
pub fn apply(layer: impl Read + Send, root: &Path, layout: Layout) -> Result<(), UnpackError> {
    Unpack { layout, ..Unpack::default() }.run(layer, root).map(drop)
}

// === impl Unpack ===

impl Unpack<'_> {
    /// Unpacks one layer into `root`, which must be there and changed by nobody else meanwhile.
    pub fn run(&self, layer: impl Read + Send, root: &Path) -> Result<Report, UnpackError> {
        self.run_within(&Budget::new(self.limits.names), layer, root)
    }

    /// The same with a budget that other layers have a share in.
    pub(crate) fn run_within(
        &self,
        names: &Budget,
        layer: impl Read + Send,
        root: &Path,
    ) -> Result<Report, UnpackError> {
        self.run_among((Crowd::here(), names), layer, root)
    }

    fn run_among(
        &self,
        (crowd, names): (&Crowd, &Budget),
        layer: impl Read + Send,
        root: &Path,
    ) -> Result<Report, UnpackError> {
        let _one = crowd.enter();
        let (layer, compression) = compression::detect(layer, self.media_type)?;
        let (report, digest) = stream::run(layer, compression, self.limits.bytes, crowd, |stream| {
            std::thread::scope(|scope| {
                let (later, finisher) = later::pair();
                scope.spawn(|| finisher.run());
                let mut application = Application::new(self, root, later, (crowd, names))?;
                application.take(&mut *stream)?;
                // What follows the archive's end is part of the digest.
                let bytes = stream.drain().map_err(UnpackError::after_the_end)?;
                Ok(Report { bytes, ..application.finish()? })
            })
        });
        Ok(Report { diff_id: digest, ..report? })
    }
}

impl Default for Unpack<'_> {
    fn default() -> Self {
        Unpack {
            target: Target::Flat,
            layout: Layout::Plain,
            media_type: None,
            limits: Limits::default(),
            names: Names::of_this_host(),
            sync: false,
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    /// Far above the largest images known, far below what a machine dies of. Windows itself needs most names: a layer of
    /// it has 100,000 files and more, whose paths of 100 bytes and more are remembered twice.
    fn default() -> Self {
        Limits {
            entries: 2_000_000,
            bytes: 256 << 30,
            path: 4096,
            depth: 256,
            header: 1 << 20,
            names: 512 << 20,
        }
    }
}

/// An error of the stream, which may be one of ours that travelled as an I/O error.
fn unwrapped(error: io::Error, otherwise: impl FnOnce(io::Error) -> UnpackError) -> UnpackError {
    match error.downcast::<UnpackError>() {
        Ok(ours) => ours,
        Err(theirs) => otherwise(theirs),
    }
}

#[cfg(test)]
mod tests;
