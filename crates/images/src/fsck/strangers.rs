//! What has no business in the store.

use std::path::Path;

use super::{Findings, Outcome, Problem};
use crate::build::site::{self, State};
use crate::content::{At, BLOBS, Content, DepotError, Kind, ROOMS};
use crate::digest::Digest;

/// Beside the rooms.
const KNOWN: [&str; 2] = ["names.json", "gc.lock"];

// === impl Content ===

impl Content {
    pub(super) fn check_strangers(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        self.strangers_in(self.dir(), &is_of_the_store, repair, findings)?;
        let is_digest = |name: &str| Digest::from_hex(name).is_some();
        self.strangers_in(&self.room(BLOBS), &is_digest, repair, findings)?;
        for kind in Kind::ALL {
            let is_one = |name: &str| is_digest(name.strip_prefix("unfinished-").unwrap_or(name));
            self.strangers_in(&self.room(kind.room()), &is_one, repair, findings)?;
        }
        Ok(())
    }

    fn strangers_in(
        &self,
        dir: &Path,
        known: &dyn Fn(&str) -> bool,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<(), DepotError> {
        for entry in std::fs::read_dir(dir).at("list", dir)? {
            let entry = entry.at("list", dir)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Who builds an image here has a directory, and goes with it.
            if known(&name) || site::state(&entry) == Some(State::InUse) {
                continue;
            }
            let outcome = if repair && was_ours(&name) {
                self.discard(&entry.path())?;
                Outcome::Removed
            } else {
                Outcome::Left
            };
            findings.add(entry.path(), Problem::Stranger, outcome);
        }
        Ok(())
    }
}

fn is_of_the_store(name: &str) -> bool {
    let is_room = |room: &&str| room.split('/').next() == Some(name);
    KNOWN.contains(&name) || ROOMS.iter().any(is_room) || name.ends_with(".tmp")
}

/// Images of the first version of the store. Anything else is somebody's, and not ours to remove.
fn was_ours(name: &str) -> bool {
    name.strip_prefix("sha256-").is_some_and(|hex| Digest::from_hex(hex).is_some())
        || name.strip_prefix("unfinished-").is_some()
}
