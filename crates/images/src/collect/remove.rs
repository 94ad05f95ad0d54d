//! Removing an image on purpose: by a name, which may only take that name away, or by its id.

use super::survey::{Part, Survey};
use crate::content::{At, Content, DepotError};
use crate::digest::Digest;
use crate::fail;
use crate::reference::Reference;

/// What a removal did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    pub untagged: Vec<String>,
    /// The image, if no other name led to it.
    pub image: Option<Digest>,
    /// With what only the names led to.
    pub bytes: u64,
}

/// What somebody meant.
struct Meant {
    id: Digest,
    name: Option<String>,
}

/// A beginning of an id that is shorter could mean anything.
const SHORTEST_ID: usize = 4;

// === impl Content ===

impl Content {
    /// Takes a name away, and the images that only it led to: its own, and the other platforms. An id takes the image
    /// with all its names, of which there may be several only with `force`. What a container uses stays, whatever is
    /// said.
    pub fn remove(&self, id_or_name: &str, force: bool) -> Result<Removed, DepotError> {
        let moment = self.collection()?;
        let mut survey = Survey::of(self)?;
        let Meant { id, name } = survey.meant(id_or_name)?;
        let platforms = name.as_ref().map(|name| survey.platforms_of(name)).unwrap_or_default();
        let mut removed = match name.filter(|name| survey.is_led_to_without(name, &id)) {
            Some(name) => self.remove_name(&mut survey, name)?,
            None => self.remove_with_names(&mut survey, id, force)?,
        };
        removed.bytes += self.remove_unneeded(&mut survey, &platforms)?;
        fail::point("trash-filled");
        drop(moment);
        self.empty_trash()?;
        Ok(removed)
    }

    fn remove_name(&self, survey: &mut Survey, name: String) -> Result<Removed, DepotError> {
        let untagged = vec![name];
        let keys = survey.forget_names(&untagged);
        self.names().forget(&untagged)?;
        let bytes = self.discard_parts(survey.release(&keys))?;
        Ok(Removed { untagged, image: None, bytes })
    }

    fn remove_with_names(&self, survey: &mut Survey, id: Digest, force: bool) -> Result<Removed, DepotError> {
        survey.must_be_free(&id)?;
        let untagged = survey.names_of(&id);
        if untagged.len() > 1 && !force {
            return Err(DepotError::SeveralNames { image: id, names: untagged });
        }
        let bytes = self.remove_image(survey, &id)?;
        Ok(Removed { untagged, image: Some(id), bytes })
    }

    fn remove_unneeded(&self, survey: &mut Survey, images: &[Digest]) -> Result<u64, DepotError> {
        let mut freed = 0;
        for id in images {
            if survey.is_unneeded(id) {
                freed += self.remove_image(survey, id)?;
            }
        }
        Ok(freed)
    }

    /// Removes an image whole, and of its parts those that nothing else needs. The caller has the lock of collections.
    /// Killed in between, it leaves parts without an image, which the next collection takes.
    pub(super) fn remove_image(&self, survey: &mut Survey, id: &Digest) -> Result<u64, DepotError> {
        let (names, parts) = (survey.names_of(id), survey.forget(id));
        self.names().forget(&names)?;
        fail::point("names-removed");
        for path in [self.record_path(id), self.used_path(id)] {
            os::file::remove(&path).at("remove", &path)?;
        }
        fail::point("record-removed");
        self.discard_parts(parts)
    }

    fn discard_parts(&self, parts: Vec<Part>) -> Result<u64, DepotError> {
        let mut freed = 0;
        for part in parts {
            self.discard_part(&part.key)?;
            freed += part.size;
        }
        Ok(freed)
    }
}

// === impl Survey ===

impl Survey {
    fn meant(&self, text: &str) -> Result<Meant, DepotError> {
        // A name that is written like an id is a name: ids can be written in full.
        if let Ok(reference) = Reference::parse(text) {
            let name = reference.to_string();
            if let Some(named) = self.names.get(&name) {
                return Ok(Meant { id: named.id.clone(), name: Some(name) });
            }
            if let Some(id) = self.by_digest(&reference) {
                return Ok(Meant { id, name: None });
            }
        }
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        let fits = |id: &&Digest| hex.len() >= SHORTEST_ID && id.hex().starts_with(hex);
        let mut found: Vec<Digest> =
            self.records.iter().map(|record| &record.id).filter(fits).cloned().collect();
        match (found.pop(), found.is_empty()) {
            (Some(id), true) => Ok(Meant { id, name: None }),
            (None, _) => Err(DepotError::NoImage(text.to_owned())),
            (Some(id), false) => {
                found.push(id);
                Err(DepotError::Ambiguous { text: text.to_owned(), images: found })
            }
        }
    }

    /// `NAME@DIGEST` of an image that came by another name of the same repository.
    fn by_digest(&self, wanted: &Reference) -> Option<Digest> {
        let digest = wanted.digest()?;
        let place = |it: &Reference| (it.registry().to_owned(), it.repository().to_owned());
        let same = |name: &str| Reference::parse(name).is_ok_and(|it| place(&it) == place(wanted));
        let mut fits =
            self.names.iter().filter(|(name, named)| named.target.as_str() == digest && same(name));
        fits.next().map(|(_, named)| named.id.clone())
    }
}
