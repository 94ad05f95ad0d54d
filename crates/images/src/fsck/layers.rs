//! Layers and flat images against their notes.

use std::io;

use super::{Findings, Outcome, Problem};
use crate::collect::Survey;
use crate::content::{Content, DepotError, Key, Kind, is_settled, measure};
use crate::digest::Digest;

// === impl Content ===

impl Content {
    pub(super) fn check_layers(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        for kind in Kind::ALL {
            for digest in self.names_in(kind.room())? {
                findings.layers += 1;
                let Some(problem) = self.damage(kind, &digest)? else { continue };
                let outcome = if repair { self.drop_layer(kind, &digest)? } else { Outcome::Left };
                findings.add(self.place(kind, &digest), problem, outcome);
            }
        }
        Ok(())
    }

    fn damage(&self, kind: Kind, digest: &Digest) -> Result<Option<Problem>, DepotError> {
        let Some(note) = self.note(kind, digest)? else {
            // Power loss cuts a note that was never brought to the disk, as it may cut its files.
            return Ok(Some(match is_settled(&self.place(kind, digest)) {
                true => damaged("it has no readable note".into()),
                false => Problem::Unsettled,
            }));
        };
        let Some(unpacked) = self.unpacked(kind, digest)? else { return Ok(Some(Problem::Unsettled)) };
        Ok(judged(measure(&unpacked.files), note.size))
    }

    /// Removed under the lock of collections: nobody begins to use it meanwhile.
    fn drop_layer(&self, kind: Kind, digest: &Digest) -> Result<Outcome, DepotError> {
        let _moment = self.collection()?;
        let Some(survey) = Survey::of_readable(self)? else {
            return Ok(Outcome::Kept { why: "whose it is cannot be read".into() });
        };
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

/// What the files of a layer say of it. Images have directories that are closed to all but root: where one shuts us out,
/// nobody can tell by looking, and a layer that a pull has just made would be called damaged.
fn judged(measured: io::Result<u64>, noted: u64) -> Option<Problem> {
    match measured {
        Ok(measured) if measured == noted => None,
        Ok(measured) => Some(damaged(format!("its files hold {measured} bytes, its note says {noted}"))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
        Err(error) => Some(damaged(format!("it cannot be read: {error}"))),
    }
}

fn damaged(why: String) -> Problem {
    Problem::DamagedLayer { why }
}

// === impl Survey ===

impl Survey {
    /// Containers and pulls of any image that is made of it.
    pub(super) fn part_must_be_free(&self, key: &Key) -> Result<(), DepotError> {
        let (records, digest) = (self.records.iter(), key.digest());
        let mut images = records.filter(|record| self.parts_of(record).contains(key));
        images.try_for_each(|record| self.must_be_free(&record.id))?;
        // It may be one of theirs.
        self.lost.iter().try_for_each(|image| self.must_be_free(image))?;
        self.must_be_free(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_looked_at_is_found_damaged() {
        let failed = |kind: io::ErrorKind| Err(kind.into());
        for (measured, wanted) in [
            (Ok(7), None),
            (Ok(6), Some("its files hold 6 bytes, its note says 7")),
            (failed(io::ErrorKind::PermissionDenied), None),
            (failed(io::ErrorKind::NotFound), Some("it cannot be read: entity not found")),
        ] {
            assert_eq!(judged(measured, 7), wanted.map(|why| damaged(why.into())));
        }
    }
}
