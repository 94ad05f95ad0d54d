//! The directories below the root. Each is reached without following a link out of the root, opened once, and
//! remembered as real for as long as nothing of ours replaces it: most entries cost no look at their parents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::tree::{Attributes, Child, Dir, Marks, Refused};

use super::budget::{Budget, weight};
use super::error::{UnpackError, shown};
use super::later::{Later, Made, Short};
use super::name::Way;
use super::{MOST_WARNINGS, Names, Target};

/// As many links as a kernel follows.
pub(super) const MOST_LINKS: usize = 40;
/// So many directories stay open; then all are closed and opened again where they are needed.
const MOST_OPEN: usize = 24;
/// What a directory costs that is seen, beside its names: the nodes of a map are half empty.
const DIRECTORY: usize = 2 * size_of::<(Vec<u8>, (Vec<u8>, Seen))>();

/// A real directory, and what tells it from others.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) dir: Dir,
    /// Names from the root, each ended by a slash: a directory's key begins the keys of what is in it.
    pub(super) key: Vec<u8>,
    /// The same as it is spelled.
    pub(super) path: Vec<u8>,
}

/// What is known of a directory that this layer passed through.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    /// It was there, with these attributes.
    Found(Attributes),
    /// It had to be made, and the layer has not described it.
    Made,
    Described(Attributes),
}

pub(super) struct Place<'a> {
    root: Arc<Spot>,
    path: PathBuf,
    names: Names,
    depth: usize,
    budget: &'a Budget,
    marks: Option<Marks>,
    open: HashMap<Vec<u8>, Arc<Spot>>,
    /// By key, with the path.
    seen: BTreeMap<Vec<u8>, (Vec<u8>, Seen)>,
    /// Names that this layer hides: a directory that comes to stand there shows nothing from below.
    hidden: BTreeSet<Vec<u8>>,
    later: Later,
    /// What files could not keep that were finished meanwhile, by path.
    short: Vec<(Vec<u8>, Refused)>,
    /// Whether anything was taken away that had a name.
    removed: bool,
}

// === impl Place ===

impl<'a> Place<'a> {
    pub(super) fn open(
        path: &Path,
        names: Names,
        depth: usize,
        budget: &'a Budget,
        target: Target,
        later: Later,
    ) -> Result<Place<'a>, UnpackError> {
        let dir = Dir::open(path).map_err(|source| UnpackError::Write { path: path.to_owned(), source })?;
        let marks = match target {
            Target::Flat => None,
            Target::Overlay(marks) => Some(marks),
        };
        Ok(Place {
            root: Arc::new(Spot { dir, key: Vec::new(), path: Vec::new() }),
            path: path.to_owned(),
            names,
            depth,
            budget,
            marks,
            open: HashMap::new(),
            seen: BTreeMap::new(),
            hidden: BTreeSet::new(),
            later,
            short: Vec::new(),
            removed: false,
        })
    }

    /// The key of a name in a directory.
    pub(super) fn key(&self, parent: &Spot, name: &[u8]) -> Vec<u8> {
        joined(&parent.key, &self.names.key(name))
    }

    pub(super) fn failed(&self, path: &[u8]) -> impl FnOnce(io::Error) -> UnpackError + use<> {
        let path = self.path.join(String::from_utf8_lossy(path).trim_end_matches('/'));
        |source| UnpackError::Write { path, source }
    }

    /// The real directory of these parts, made where it is missing.
    pub(super) fn directory(&mut self, parts: &[&[u8]], name: &[u8]) -> Result<Arc<Spot>, UnpackError> {
        let missing = || UnpackError::Escapes { name: shown(name) };
        self.walk(parts, name, true)?.ok_or_else(missing)
    }

    /// The real directory of these parts, if it is there.
    pub(super) fn existing(
        &mut self,
        parts: &[&[u8]],
        name: &[u8],
    ) -> Result<Option<Arc<Spot>>, UnpackError> {
        self.walk(parts, name, false)
    }

    fn walk(&mut self, parts: &[&[u8]], name: &[u8], make: bool) -> Result<Option<Arc<Spot>>, UnpackError> {
        let whole = parts.iter().fold(Vec::new(), |key, part| joined(&key, &self.names.key(part)));
        if let Some(spot) = self.open.get(&whole) {
            return Ok(Some(spot.clone()));
        }
        let mut trail = vec![self.root.clone()];
        let mut ahead: Vec<Vec<u8>> = parts.iter().rev().map(|part| part.to_vec()).collect();
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == b".." {
                trail.truncate(trail.len().saturating_sub(1).max(1));
                continue;
            }
            let here = trail.last().unwrap_or(&self.root).clone();
            match self.step(&here, &part, make)? {
                Step::Into(spot) => trail.push(spot),
                Step::Missing => return Ok(None),
                Step::Link(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(UnpackError::Links { name: shown(name) });
                    }
                    let way = self.way(&target, name)?;
                    if way.rooted {
                        trail.truncate(1);
                    }
                    ahead.extend(way.steps.into_iter().rev());
                }
            }
            if trail.len() > self.depth + 1 {
                return Err(UnpackError::Deep { name: shown(name), limit: self.depth });
            }
        }
        Ok(trail.pop())
    }

    /// Where a link that an entry passes through leads.
    pub(super) fn way(&self, link: &Path, name: &[u8]) -> Result<Way, UnpackError> {
        let text = os::tree::bytes(link.as_os_str());
        let refused = |why| UnpackError::LinkText { name: shown(name), text: shown(&text), why };
        self.names.way(&text).map_err(refused)
    }

    fn step(&mut self, here: &Spot, part: &[u8], make: bool) -> Result<Step, UnpackError> {
        let key = self.key(here, part);
        if let Some(spot) = self.open.get(&key) {
            return Ok(Step::Into(spot.clone()));
        }
        let path = joined(&here.path, part);
        let name = name(part)?;
        match here.dir.child(&name).map_err(self.failed(&path))? {
            Child::Link(target) => return Ok(Step::Link(target)),
            Child::Directory(dir) => return self.found(dir, key, path).map(Step::Into),
            Child::Other | Child::Missing if !make => return Ok(Step::Missing),
            Child::Other => {
                self.settle()?;
                self.removed = true;
                here.dir.remove(&name).map_err(self.failed(&path))?;
            }
            Child::Missing => {}
        }
        self.make(here, part).map(Step::Into)
    }

    /// A directory that was there before.
    pub(super) fn found(&mut self, dir: Dir, key: Vec<u8>, path: Vec<u8>) -> Result<Arc<Spot>, UnpackError> {
        if !self.seen.contains_key(&key) {
            self.see(key.clone(), path.clone(), Seen::Found(dir.found().clone()))?;
        }
        Ok(self.keep(Spot { dir, key, path }))
    }

    /// Remembers a directory, which is called by its path once more when the layer ends.
    fn see(&mut self, key: Vec<u8>, path: Vec<u8>, seen: Seen) -> Result<(), UnpackError> {
        let attributes = match &seen {
            Seen::Found(attributes) | Seen::Described(attributes) => weight(attributes),
            Seen::Made => 0,
        };
        let new = if self.seen.contains_key(&key) { 0 } else { DIRECTORY + key.len() + 2 * path.len() };
        if new + attributes > 0 {
            self.budget.take(new + attributes)?;
        }
        self.seen.insert(key, (path, seen));
        Ok(())
    }

    /// Room for something else that is known of a name.
    pub(super) fn remember(&mut self, bytes: usize) -> Result<(), UnpackError> {
        self.budget.take(bytes)
    }

    /// A new directory, which the layer may describe later.
    pub(super) fn make(&mut self, here: &Spot, part: &[u8]) -> Result<Arc<Spot>, UnpackError> {
        let dir = here.dir.make(&name(part)?).map_err(self.failed(&joined(&here.path, part)))?;
        self.made(dir, here, part)
    }

    /// The same, where nothing has this name yet.
    pub(super) fn make_first(&mut self, here: &Spot, part: &[u8]) -> Result<bool, UnpackError> {
        match here.dir.make(&name(part)?) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(self.failed(&joined(&here.path, part))(error)),
            Ok(dir) => self.made(dir, here, part).map(|_| true),
        }
    }

    fn made(&mut self, dir: Dir, here: &Spot, part: &[u8]) -> Result<Arc<Spot>, UnpackError> {
        let (key, path) = (self.key(here, part), joined(&here.path, part));
        if let Some(marks) = self.marks.filter(|_| self.hidden.contains(&key)) {
            dir.make_opaque(marks).map_err(self.failed(&path))?;
        }
        self.see(key.clone(), path.clone(), Seen::Made)?;
        Ok(self.keep(Spot { dir, key, path }))
    }

    fn keep(&mut self, spot: Spot) -> Arc<Spot> {
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        let spot = Arc::new(spot);
        self.open.insert(spot.key.clone(), spot.clone());
        spot
    }

    /// Where the bytes of the next small file go, before it is [finished](Place::finish).
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        self.later.bytes()
    }

    /// Sees to it that a file gets its bytes and attributes, by the time that all is [settled](Place::settle).
    pub(super) fn finish(&mut self, made: Made) -> Result<(), UnpackError> {
        let short = self.later.add(made);
        self.note(short)
    }

    /// Waits until every file has what it is to have.
    pub(super) fn settle(&mut self) -> Result<(), UnpackError> {
        let short = self.later.settle();
        self.note(short)
    }

    fn note(&mut self, short: Vec<Short>) -> Result<(), UnpackError> {
        for Short { parent, name, why } in short {
            let path = joined(&parent.path, &os::tree::bytes(&name));
            let refused = why.map_err(self.failed(&path))?;
            if self.short.len() < MOST_WARNINGS {
                self.short.push((path, refused));
            }
        }
        Ok(())
    }

    pub(super) fn has_removed(&self) -> bool {
        self.removed
    }

    /// What files could not keep, by path.
    pub(super) fn take_short(&mut self) -> Vec<(Vec<u8>, Refused)> {
        std::mem::take(&mut self.short)
    }

    /// Removes a name. What was known below it is forgotten; and every directory is looked for anew, because on Windows
    /// the one that went may have had a second name (`LONGNA~1`), which what comes in its place may have, too.
    pub(super) fn remove(&mut self, parent: &Spot, part: &[u8]) -> Result<(), UnpackError> {
        self.settle()?;
        self.removed = true;
        let was_directory =
            parent.dir.remove(&name(part)?).map_err(self.failed(&joined(&parent.path, part)))?;
        if was_directory {
            let key = self.key(parent, part);
            self.open.clear();
            let below: Vec<_> = self.below(&key).cloned().collect();
            for known in below {
                self.seen.remove(&known);
            }
        }
        Ok(())
    }

    fn below<'p>(&'p self, key: &'p [u8]) -> impl Iterator<Item = &'p Vec<u8>> {
        self.seen
            .range(key.to_vec()..)
            .map(|(known, _)| known)
            .take_while(move |known| known.starts_with(key))
    }

    /// What a directory that was seen is to be given at the end.
    pub(super) fn describe(
        &mut self,
        key: Vec<u8>,
        path: Vec<u8>,
        attributes: Attributes,
    ) -> Result<(), UnpackError> {
        self.see(key, path, Seen::Described(attributes))
    }

    pub(super) fn hide(&mut self, key: Vec<u8>) -> Result<(), UnpackError> {
        self.budget.take(key.len())?;
        self.hidden.insert(key);
        Ok(())
    }

    /// The root, and the directories below it by path, each after all that is in it.
    pub(super) fn into_seen(self) -> (PathBuf, Arc<Spot>, impl Iterator<Item = (Vec<u8>, Seen)>) {
        (self.path, self.root, self.seen.into_values().rev())
    }
}

/// What a name of the archive is called here.
pub(super) fn name(part: &[u8]) -> Result<OsString, UnpackError> {
    let why = "this system has no such names";
    os::tree::name(part).ok_or_else(|| UnpackError::Name { name: shown(part), why })
}

pub(super) fn joined(directory: &[u8], part: &[u8]) -> Vec<u8> {
    [directory, part, b"/"].concat()
}

enum Step {
    Into(Arc<Spot>),
    Link(PathBuf),
    Missing,
}

#[cfg(test)]
mod tests {
    use super::super::later;
    use super::*;

    /// On Windows a directory is reached by its path, and may have a second name there: what was cached by that name
    /// would be a way through the link that comes in its place.
    #[test]
    fn after_a_directory_went_no_other_is_taken_for_real_without_a_look() {
        let dir = tempfile::tempdir().unwrap();
        let (later, _finisher) = later::pair();
        let names = Names { windows: true, fold: true };
        let budget = Budget::new(1 << 20);
        let mut place = Place::open(dir.path(), names, 256, &budget, Target::Flat, later).unwrap();
        let root = place.directory(&[], b"").unwrap();
        place.directory(&[b"long directory name"], b"").unwrap();
        place.directory(&[b"LONGDI~1"], b"").unwrap();
        assert_eq!(place.open.len(), 2);
        place.remove(&root, b"long directory name").unwrap();
        assert!(place.open.is_empty(), "{:?}", place.open.keys());
    }
}
