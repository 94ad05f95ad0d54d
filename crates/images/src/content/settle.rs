//! Which unpacked layers have reached the disk.
//!
//! Syncing each file of a layer would cost more than unpacking it. So a layer is written without, and carries the
//! boot that wrote it: as long as that boot lasts, the page cache is the truth. Once the whole file system was synced
//! it is marked; an unmarked one of an earlier boot is made again from its blob, which was synced before it got its
//! name.

use std::io;
use std::path::PathBuf;

use os::file::Stamp;

use super::unpacked::Kind;
use super::{At, Content, DepotError};
use crate::digest::Digest;
use crate::fail;

/// Beside a layer's note: empty, its presence says it.
pub(super) const SYNCED: &str = "synced";

struct Unsettled {
    place: PathBuf,
    note: PathBuf,
    stamp: Stamp,
}

// === impl Content ===

impl Content {
    /// Brings what was unpacked in this boot to the disk and marks it so; says how many. Called when a pull is done
    /// and nobody waits any more. Where we may not sync a disk, nothing is marked.
    pub fn settle(&self) -> Result<usize, DepotError> {
        let mut waiting = Vec::new();
        for kind in Kind::ALL {
            for digest in self.names_in(kind.room())? {
                waiting.extend(self.unsettled(kind, &digest)?);
            }
        }
        if waiting.is_empty() {
            return Ok(0);
        }
        match os::file::sync_disk(self.dir()) {
            // They stay unmarked: after a reboot they are made again.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return Ok(0),
            synced => synced.at("sync the disk of", self.dir())?,
        }
        fail::point("layers-settled");
        waiting.into_iter().try_fold(0, |marked, each| Ok(marked + usize::from(each.mark()?)))
    }

    fn unsettled(&self, kind: Kind, digest: &Digest) -> Result<Option<Unsettled>, DepotError> {
        let place = self.place(kind, digest);
        let note = place.join(kind.note());
        if place.join(SYNCED).exists() {
            return Ok(None);
        }
        let Ok(stamp) = os::file::stamp(&note) else { return Ok(None) };
        let ours = self.note_file(kind, &place)?.filter(|file| file.boot == self.inner.boot);
        Ok(ours.map(|_| Unsettled { place, note, stamp }))
    }

    /// The things in a room that are named by a digest; others are on their way.
    pub(crate) fn names_in(&self, room: &str) -> Result<Vec<Digest>, DepotError> {
        let path = self.room(room);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&path).at("list", &path)? {
            let name = entry.at("list", &path)?.file_name();
            found.extend(name.to_str().and_then(Digest::from_hex));
        }
        Ok(found)
    }
}

// === impl Unsettled ===

impl Unsettled {
    /// One that was removed and made again meanwhile is another one, which the sync may have missed.
    fn mark(self) -> Result<bool, DepotError> {
        if !os::file::stamp(&self.note).is_ok_and(|found| found == self.stamp) {
            return Ok(false);
        }
        let path = self.place.join(SYNCED);
        std::fs::write(&path, []).at("write", &path)?;
        Ok(true)
    }
}
