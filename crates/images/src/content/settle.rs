//! Which unpacked layers have reached the disk.
//!
//! Syncing each file of a layer would cost more than unpacking it. So a layer is written without, and carries the
//! boot that wrote it: as long as that boot lasts, the page cache is the truth. Once the whole file system was synced
//! it is marked; an unmarked one of an earlier boot is made again from its blob, which was synced before it got its
//! name.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;

use os::file::Stamp;

use super::unpacked::Kind;
use super::{At, Content, DepotError, Key};
use crate::digest::Digest;
use crate::fail;

/// Beside a layer's note: empty, its presence says it.
pub(super) const SYNCED: &str = "synced";

struct Unsettled {
    key: Key,
    place: PathBuf,
    note: PathBuf,
    stamp: Stamp,
}

/// Whether a thread of this process is at it.
#[derive(Debug, Default)]
pub(super) struct Settler(Mutex<State>);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Busy,
    /// Its sync may miss what was unpacked meanwhile: it does it once more.
    BusyAndAgain,
}

// === impl Content ===

impl Content {
    /// Settles in a thread that nobody waits for. Whoever asks while one is at it makes it go on once more, so that a
    /// hundred pulls do not cost a hundred syncs. For programs that live on: the kernel lets none end in the middle
    /// of a sync.
    pub fn settle_later(&self, failed: impl Fn(DepotError) + Send + 'static) {
        if !self.inner.settler.begin() {
            return;
        }
        let content = self.clone();
        let toil = move || {
            loop {
                if let Err(error) = content.settle() {
                    failed(error);
                }
                if !content.inner.settler.goes_on() {
                    break;
                }
            }
        };
        if thread::Builder::new().name("settle".to_owned()).spawn(toil).is_err() {
            // The next one who asks tries again.
            self.inner.settler.end();
        }
    }

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
        waiting.into_iter().try_fold(0, |marked, each| Ok(marked + usize::from(each.mark(self)?)))
    }

    fn unsettled(&self, kind: Kind, digest: &Digest) -> Result<Option<Unsettled>, DepotError> {
        let place = self.place(kind, digest);
        let note = place.join(kind.note());
        if place.join(SYNCED).exists() {
            return Ok(None);
        }
        let Ok(stamp) = os::file::stamp(&note) else { return Ok(None) };
        let ours = self.note_file(kind, &place)?.filter(|file| file.boot == self.inner.boot);
        Ok(ours.map(|_| Unsettled { key: kind.key(digest), place, note, stamp }))
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

// === impl Settler ===

impl Settler {
    /// Whether the caller is to do it.
    fn begin(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = *state == State::Idle;
        *state = if idle { State::Busy } else { State::BusyAndAgain };
        idle
    }

    /// Whether somebody asked meanwhile; else it has ended.
    fn goes_on(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let again = *state == State::BusyAndAgain;
        *state = if again { State::Busy } else { State::Idle };
        again
    }

    fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = State::Idle;
    }
}

// === impl Unsettled ===

impl Unsettled {
    /// One that was removed and made again meanwhile is another one, which the sync may have missed; whoever makes one has
    /// its flight. One that goes at this very moment needs no mark.
    fn mark(self, content: &Content) -> Result<bool, DepotError> {
        let Some(_flight) = content.try_flight(&self.key)? else { return Ok(false) };
        if !os::file::stamp(&self.note).is_ok_and(|found| found == self.stamp) {
            return Ok(false);
        }
        let path = self.place.join(SYNCED);
        match std::fs::write(&path, []) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            written => written.at("write", &path).map(|()| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_while_one_is_at_it_makes_it_go_on_once() {
        let settler = Settler::default();
        assert!(settler.begin(), "the first does it");
        assert!(!settler.begin() && !settler.begin(), "the others have it done");
        assert!(settler.goes_on(), "what they brought may have been missed");
        assert!(!settler.goes_on(), "once for all of them");
        assert!(settler.begin(), "the next one begins anew");
    }
}
