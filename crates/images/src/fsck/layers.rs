//! Layers and flat images against their notes.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::{Findings, Outcome, Problem};
use crate::collect::Survey;
use crate::content::{Content, DepotError, Key, Kind};
use crate::digest::Digest;

// === impl Content ===

impl Content {
    pub(super) fn check_layers(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        for kind in Kind::ALL {
            for digest in self.names_in(kind.room())? {
                findings.layers += 1;
                let Some(why) = self.damage(kind, &digest)? else { continue };
                let outcome = if repair { self.drop_layer(kind, &digest)? } else { Outcome::Left };
                findings.add(self.place(kind, &digest), Problem::DamagedLayer { why }, outcome);
            }
        }
        Ok(())
    }

    fn damage(&self, kind: Kind, digest: &Digest) -> Result<Option<String>, DepotError> {
        let Some(note) = self.note(kind, digest)? else { return Ok(Some("it has no readable note".into())) };
        let Some(unpacked) = self.unpacked(kind, digest)? else {
            return Ok(Some("it was written before the last boot and never brought to the disk".into()));
        };
        let measured = match measure(&unpacked.files) {
            Ok(measured) => measured,
            Err(error) => return Ok(Some(format!("it cannot be read: {error}"))),
        };
        // Of a flat image, upper layers may have removed what lower ones brought.
        let right = measured == note.size || (kind == Kind::Flat && measured < note.size);
        Ok((!right).then(|| format!("its files hold {measured} bytes, its note says {}", note.size)))
    }

    /// Removed under the lock of collections: nobody begins to use it meanwhile.
    fn drop_layer(&self, kind: Kind, digest: &Digest) -> Result<Outcome, DepotError> {
        let _moment = self.collection()?;
        let survey = Survey::of(self)?;
        let key = kind.key(digest);
        if let Err(error) = survey.part_must_be_free(&key) {
            return Outcome::in_use(error);
        }
        let Some(_flight) = self.try_flight(&key)? else {
            return Ok(Outcome::Kept { why: "it is being made again".into() });
        };
        self.discard_part(&key)?;
        Ok(Outcome::Removed)
    }
}

// === impl Survey ===

impl Survey {
    /// Containers and pulls of any image that is made of it.
    pub(super) fn part_must_be_free(&self, key: &Key) -> Result<(), DepotError> {
        let (records, digest) = (self.records.iter(), key.digest());
        let mut images = records.filter(|record| self.parts_of(record).contains(key));
        images.try_for_each(|record| self.must_be_free(&record.id))?;
        self.must_be_free(digest)
    }
}

/// What the files hold together, each once, whatever names it has.
fn measure(root: &Path) -> io::Result<u64> {
    let (mut dirs, mut seen, mut size) = (vec![root.to_owned()], HashSet::new(), 0);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                let stamp = os::file::stamp(&entry.path())?;
                size += if seen.insert(stamp.identity()) { stamp.size() } else { 0 };
            }
        }
    }
    Ok(size)
}
