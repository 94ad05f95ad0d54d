//! Is everything in the store what it says it is?
//!
//! Every blob is hashed again, every layer is measured against its note, and everything must belong to something.
//! What is damaged is removed if one says so, and the next pull brings it again. Nothing here is needed to run: a
//! store without its records and names is one whose images are pulled again, without moving a layer that is there.

mod blobs;
mod images;
mod layers;
mod strangers;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use crate::content::{Content, DepotError};
use crate::digest::Digest;

/// What was looked at and what was found.
#[derive(Debug, Default)]
pub struct Findings {
    pub blobs: u64,
    /// Hashed.
    pub bytes: u64,
    /// Layers and flat images.
    pub layers: u64,
    pub images: u64,
    pub found: Vec<Finding>,
}

#[derive(Debug)]
pub struct Finding {
    pub path: PathBuf,
    pub problem: Problem,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A blob that has not the digest of its name.
    DamagedBlob { found: Digest },
    /// A layer or flat image that is not what its note says.
    DamagedLayer { why: String },
    /// A layer or flat image that an earlier boot unpacked and never brought to the disk. No damage: nobody looks at
    /// it, and it is made again when it is wanted.
    Unsettled,
    /// A record or the list of names.
    Unreadable { why: String },
    /// An image of which blobs are missing: it may run, and cannot be pushed or unpacked again.
    Incomplete { image: Digest, missing: Vec<Digest> },
    /// An image that containers use, of which nothing says what it is made of.
    NoRecord { image: Digest, by: Vec<String> },
    /// A name that leads to no image.
    Dangling { name: String },
    /// What belongs to no image.
    Orphan { bytes: u64 },
    /// Nothing of ours, or of a porthole before this one.
    Stranger,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was to be done.
    Left,
    /// It was removed.
    Removed,
    /// It stays, for this reason.
    Kept { why: String },
}

// === impl Content ===

impl Content {
    /// Looks at everything, which takes as long as reading it does; pulls and containers go on meanwhile.
    pub fn fsck(&self, repair: bool) -> Result<Findings, DepotError> {
        let mut findings = Findings::default();
        self.check_files(repair, &mut findings)?;
        self.check_blobs(repair, &mut findings)?;
        self.check_layers(repair, &mut findings)?;
        self.check_strangers(repair, &mut findings)?;
        self.check_orphans(repair, &mut findings)?;
        self.check_images(repair, &mut findings)?;
        self.empty_trash()?;
        Ok(findings)
    }
}

// === impl Findings ===

impl Findings {
    /// Whether nothing was found that is wrong and still there.
    pub fn is_sound(&self) -> bool {
        let is_well =
            |finding: &Finding| finding.outcome == Outcome::Removed || finding.problem == Problem::Unsettled;
        self.found.iter().all(is_well)
    }

    fn add(&mut self, path: PathBuf, problem: Problem, outcome: Outcome) {
        self.found.push(Finding { path, problem, outcome });
    }
}

// === impl Outcome ===

impl Outcome {
    /// The reason for which something that is used stays.
    fn in_use(error: DepotError) -> Result<Outcome, DepotError> {
        match error {
            DepotError::InUse { .. } => Ok(Outcome::Kept { why: error.to_string() }),
            other => Err(other),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Left => f.write_str("left as it is"),
            Outcome::Removed => f.write_str("removed"),
            Outcome::Kept { why } => write!(f, "kept: {why}"),
        }
    }
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::DamagedBlob { found } => write!(f, "the blob has the digest {found}: it is damaged"),
            Problem::Unsettled => f.write_str(
                "it was unpacked before the last boot and not brought to the disk: it is made again when it is wanted",
            ),
            Problem::DamagedLayer { why } | Problem::Unreadable { why } => f.write_str(why),
            Problem::Incomplete { image, missing } => {
                write!(f, "image {} lacks {}", image.short(), crate::content::listed(missing))
            }
            Problem::NoRecord { image, by } => {
                write!(f, "{} runs on image {}, which has no record", by.join(", "), image.short())
            }
            Problem::Dangling { name } => write!(f, "{name} leads to no image"),
            Problem::Orphan { bytes } => write!(f, "it belongs to no image ({bytes} bytes)"),
            Problem::Stranger => f.write_str("it is no part of the store"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.display(), self.problem, self.outcome)
    }
}

/// The whole error with its causes, on one line.
fn line(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
