//! Removing an image on purpose: by a name, which may only take that name away, or by its id.

use std::collections::HashSet;
use std::sync::Arc;

use super::survey::{Part, Survey};
use crate::content::{At, Content, DepotError, Key};
use crate::digest::Digest;
use crate::fail;
use crate::record::Record;
use crate::reference::Reference;

/// What a removal did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    pub untagged: Vec<String>,
    /// The image, if that was its last name.
    pub image: Option<Digest>,
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
    /// Takes a name away, and with its last name the image. An id takes the image with all its names, of which there
    /// may be several only with `force`. What a container uses stays, whatever is said.
    pub fn remove(&self, id_or_name: &str, force: bool) -> Result<Removed, DepotError> {
        let moment = self.collection()?;
        let mut survey = Survey::of(self)?;
        let Meant { id, name } = survey.meant(id_or_name)?;
        let names: Vec<String> = survey.names_of(&id);
        if let Some(name) = name.filter(|_| names.len() > 1) {
            self.names().forget(std::slice::from_ref(&name))?;
            return Ok(Removed { untagged: vec![name], ..Removed::default() });
        }
        survey.must_be_free(&id)?;
        if names.len() > 1 && !force {
            return Err(DepotError::SeveralNames { image: id, names });
        }
        let bytes = self.remove_image(&mut survey, &id)?;
        fail::point("trash-filled");
        drop(moment);
        self.empty_trash()?;
        Ok(Removed { untagged: names, image: Some(id), bytes })
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

    /// Takes an image out; what only it was made of comes back.
    fn forget(&mut self, id: &Digest) -> Vec<Part> {
        let (gone, rest) = std::mem::take(&mut self.records).into_iter().partition(|record| record.id == *id);
        let gone: Vec<Arc<Record>> = gone;
        let parts: HashSet<Key> = gone.iter().flat_map(|record| self.parts_of(record)).collect();
        self.records = rest;
        self.names.retain(|_, named| named.id != *id);
        let wanted = self.wanted();
        let (free, kept) = std::mem::take(&mut self.parts)
            .into_iter()
            .partition(|part| parts.contains(&part.key) && !self.keeps(&part.key, &wanted));
        self.parts = kept;
        free
    }

    fn names_of(&self, id: &Digest) -> Vec<String> {
        self.names.iter().filter(|(_, named)| named.id == *id).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn must_be_free(&self, id: &Digest) -> Result<(), DepotError> {
        let mut by = self.users.get(id).cloned().unwrap_or_default();
        by.extend(self.held.contains(id).then(|| "a pull under way".to_owned()));
        if by.is_empty() { Ok(()) } else { Err(DepotError::InUse { image: id.clone(), by }) }
    }
}
