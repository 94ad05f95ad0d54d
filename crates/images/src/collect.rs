//! What may go: images that nobody uses when room is needed, and what belongs to no image at all.
//!
//! A collection decides and renames into the trash while it has the lock of collections alone, which takes
//! milliseconds; who takes a lease or a pin waits for that moment. The deleting comes afterwards.

mod forget;
mod leads;
mod policy;
mod remove;
mod survey;
mod upkeep;
mod usage;

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

pub use os::file::Disk;
pub use policy::{Candidate, Choice, Thresholds, choose};
pub use remove::Removed;
pub use upkeep::{Keeper, Upkeep};
pub use usage::Usage;

pub(crate) use leads::Listing;
pub(crate) use survey::Survey;

use crate::content::{At, Content, DepotError, Key};
use crate::digest::Digest;
use crate::fail;
use crate::lease::Lease;
use crate::record::Record;

/// What a collection did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// The images that went.
    pub images: Vec<Digest>,
    /// What was freed, also by removing what belonged to no image.
    pub bytes: u64,
    /// What would have to be freed besides, and is in use or too young.
    pub missing: u64,
}

/// For how long what belongs to no image stays, so that a pull can go on with it.
#[derive(Debug, Clone, Copy)]
struct Grace {
    /// Blobs and what is unpacked.
    parts: Duration,
    /// Downloads that are not whole.
    downloads: Duration,
}

/// A download that nobody went on with for so long is given up.
const STALE: Duration = Duration::from_secs(3600);

// === impl Content ===

impl Content {
    /// Removes what nobody uses, as the thresholds say. What belongs to no image, lease or pull goes in any case.
    pub fn collect(&self, thresholds: &Thresholds, disk: Disk) -> Result<Collected, DepotError> {
        let now = SystemTime::now();
        let downloads = if thresholds.want_room(disk) { Duration::ZERO } else { STALE };
        let grace = Grace { parts: Duration::ZERO, downloads };
        let moment = self.collection()?;
        let mut survey = Survey::of(self)?;
        let mut done = Collected { bytes: self.discard_strays(&survey, grace, now)?, ..Collected::default() };
        let disk = Disk { available: disk.available.saturating_add(done.bytes), ..disk };
        let choice = match survey.is_blind() {
            // Without their parts, images that went would free nothing.
            true => Choice { missing: thresholds.needed(disk), ..Choice::default() },
            false => choose(&survey.candidates(self, now)?, thresholds, disk),
        };
        done.images = choice.remove.iter().map(|index| survey.records[*index].id.clone()).collect();
        for id in &done.images {
            done.bytes += self.remove_image(&mut survey, id)?;
        }
        fail::point("trash-filled");
        drop(moment);
        self.empty_trash()?;
        Ok(Collected { missing: choice.missing, ..done })
    }

    /// Removes what belongs to no image, lease or pull: what a killed pull or removal left. Says how much.
    pub fn sweep(&self) -> Result<u64, DepotError> {
        self.sweep_with(Grace::NONE)
    }

    fn sweep_with(&self, grace: Grace) -> Result<u64, DepotError> {
        let moment = self.collection()?;
        let survey = Survey::of(self)?;
        let freed = self.discard_strays(&survey, grace, SystemTime::now())?;
        drop(moment);
        self.empty_trash()?;
        Ok(freed)
    }

    /// What belongs to no image, whole or not.
    fn discard_strays(&self, survey: &Survey, grace: Grace, now: SystemTime) -> Result<u64, DepotError> {
        let freed = self.discard_orphans(survey, grace.parts, now)?;
        Ok(freed + self.give_up_downloads(survey, grace.downloads, now)?)
    }

    fn discard_orphans(&self, survey: &Survey, grace: Duration, now: SystemTime) -> Result<u64, DepotError> {
        let wanted = survey.wanted();
        let is_stray = |key: &Key| !survey.keeps(key, &wanted) && is_stale(self.came(key), grace, now);
        let mut freed = 0;
        for part in survey.parts.iter().filter(|part| is_stray(&part.key)) {
            // Whoever makes one again right now has its flight, and has it in use the moment after.
            let Some(_flight) = self.try_flight(&part.key)? else { continue };
            self.discard_part(&part.key)?;
            freed += part.size;
        }
        self.forget_uses(survey)?;
        Ok(freed)
    }

    /// Lets the layers go with which an image was tried before it was unpacked whole. Whoever else needs them keeps
    /// them; that the lease does not any more is the reason why it is asked for.
    pub(crate) fn drop_layers(&self, record: &Record, lease: &mut Lease) -> Result<(), DepotError> {
        let layers = record.layers.iter().map(|layer| Key::Layer(layer.diff_id.clone()));
        let here: Vec<Key> = layers.filter(|key| self.path_of(key).exists()).collect();
        if here.is_empty() {
            return Ok(());
        }
        lease.release(&here.iter().map(|key| key.digest().clone()).collect::<Vec<_>>())?;
        let moment = self.collection()?;
        let Some(survey) = Survey::of_readable(self)? else { return Ok(()) };
        let wanted = survey.wanted();
        for key in here.iter().filter(|key| !survey.keeps(key, &wanted)) {
            if let Some(_flight) = self.try_flight(key)? {
                self.discard_part(key)?;
            }
        }
        drop(moment);
        self.empty_trash()
    }

    pub(crate) fn discard_part(&self, key: &Key) -> Result<(), DepotError> {
        let path = self.path_of(key);
        self.discard(&path)?;
        self.cached_listings().forget(&path);
        fail::point("part-discarded");
        Ok(())
    }

    /// Notes of use whose images are gone.
    fn forget_uses(&self, survey: &Survey) -> Result<(), DepotError> {
        for id in self.names_in(crate::content::USED)? {
            if !survey.records.iter().any(|record| record.id == id) && !survey.held.contains(&id) {
                let path = self.used_path(&id);
                os::file::remove(&path).at("remove", &path)?;
            }
        }
        Ok(())
    }

    fn give_up_downloads(
        &self,
        survey: &Survey,
        grace: Duration,
        now: SystemTime,
    ) -> Result<u64, DepotError> {
        let mut freed = 0;
        for digest in self.names_in(crate::content::INGEST)? {
            let path = self.ingest_path(&digest);
            let Ok(found) = std::fs::metadata(&path) else { continue };
            if survey.held.contains(&digest) || !is_stale(found.modified().ok(), grace, now) {
                continue;
            }
            if let Some(_flight) = self.try_flight(&Key::Blob(digest))? {
                os::file::remove(&path).at("remove", &path)?;
                freed += found.len();
            }
        }
        Ok(freed)
    }
}

/// What came when a clock was ahead of now is young.
fn is_stale(came: Option<SystemTime>, grace: Duration, now: SystemTime) -> bool {
    came.is_none_or(|came| now.duration_since(came).unwrap_or_default() >= grace)
}

// === impl Grace ===

impl Grace {
    const NONE: Grace = Grace::of(Duration::ZERO);

    /// The same for whatever it is.
    const fn of(grace: Duration) -> Grace {
        Grace { parts: grace, downloads: grace }
    }
}
