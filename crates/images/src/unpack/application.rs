//! Entries become files.

mod files;
mod links;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;

use os::tree::{Attributes, Child, Refused};

use super::budget::Budget;
use super::crowd::Crowd;
use super::error::{UnpackError, shown, warning};
use super::later::Later;
use super::members::{Kind, Member, Reader};
use super::name::split_stream;
use super::place::{Place, Seen, Spot, joined, name};
use super::trail::Trail;
use super::whiteout::{self, Brought, Said};
use super::{Layout, MOST_WARNINGS, Names, Report, Target, Unpack};

/// One layer on its way into a directory.
pub(super) struct Application<'a> {
    how: &'a Unpack<'a>,
    crowd: &'a Crowd,
    place: Place<'a>,
    /// What this layer brought: it hides the layers below, not itself. A layer alone needs no list.
    brought: Brought,
    /// How this layer spells names, where case does not tell them apart.
    spelled: HashMap<Vec<u8>, Vec<u8>>,
    /// Whether it was said that extended attributes of Windows are left out.
    told_of_extended: bool,
    report: Report,
}

/// Where a member goes.
struct Spotted<'m> {
    parent: Arc<Spot>,
    part: &'m [u8],
    name: OsString,
    key: Vec<u8>,
    path: Vec<u8>,
}

// === impl Application ===

impl<'a> Application<'a> {
    pub(super) fn new(
        how: &'a Unpack<'a>,
        root: &Path,
        later: Later,
        (crowd, budget): (&'a Crowd, &'a Budget),
    ) -> Result<Self, UnpackError> {
        let place = Place::open(root, how.names, how.limits.depth, budget, how.target, later)?;
        let (brought, spelled) = (Brought::new(), HashMap::new());
        let report = Report::default();
        Ok(Application { how, crowd, place, brought, spelled, told_of_extended: false, report })
    }

    pub(super) fn take(&mut self, from: impl BufRead) -> Result<(), UnpackError> {
        let mut reader = Reader::new(from, self.how.limits);
        while let Some(member) = reader.next()? {
            self.member(&member, &mut reader)?;
        }
        self.report.entries = reader.entries();
        Ok(())
    }

    fn member<R: BufRead>(&mut self, member: &Member, reader: &mut Reader<R>) -> Result<(), UnpackError> {
        let how = self.how;
        let Some(mut parts) = how.names.parts(&member.name, how.layout, &how.limits)? else { return Ok(()) };
        self.check_case(&parts, &member.name)?;
        let Some(last) = parts.pop() else { return self.root(member) };
        match whiteout::read(last) {
            Said::Note => Ok(()),
            Said::HideAll => self.hide_all(&parts, &member.name),
            Said::Hide(hidden) => self.hide(&parts, hidden, &member.name),
            Said::Name if how.layout == Layout::Windows && split_stream(last).1.is_some() => {
                self.warn(&member.name, "a further stream of a file is left out");
                Ok(())
            }
            Said::Name => {
                let parent = self.place.directory(&parts, &member.name)?;
                let (key, path) = (self.place.key(&parent, last), joined(&parent.path, last));
                self.put(&Spotted { parent, part: last, name: name(last)?, key, path }, member, reader)
            }
        }
    }

    /// The image's root is there; a layer may only describe it.
    fn root(&mut self, member: &Member) -> Result<(), UnpackError> {
        if !matches!(member.kind, Kind::Directory) {
            return Err(UnpackError::Escapes { name: shown(&member.name) });
        }
        self.place.describe(Vec::new(), Vec::new(), member.attributes.clone())
    }

    fn put<R: BufRead>(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        reader: &mut Reader<R>,
    ) -> Result<(), UnpackError> {
        match &member.kind {
            Kind::File { size, segments } => self.file(to, member, *size, segments.as_deref(), reader)?,
            Kind::Directory => self.directory(to, member)?,
            Kind::Symlink { to: target, directory } => self.symlink(to, member, target, *directory)?,
            Kind::HardLink { to: target } => self.hard_link(to, member, target)?,
            Kind::Node(node) => {
                if !self.node(to, member, *node)? {
                    return Ok(());
                }
            }
        }
        if self.how.target == Target::Flat {
            self.place.remember(to.key.len())?;
            self.brought.insert(to.key.clone());
        }
        if member.windows_extended {
            self.tell_of_extended(&member.name);
        }
        Ok(())
    }

    /// Makes something new under a name, in the place of whatever has it.
    fn fresh<T>(
        &mut self,
        to: &Spotted<'_>,
        make: impl Fn(&os::tree::Dir, &OsStr) -> io::Result<T>,
    ) -> Result<T, UnpackError> {
        match make(&to.parent.dir, &to.name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.place.remove(&to.parent, to.part)?;
                make(&to.parent.dir, &to.name).map_err(self.place.failed(&to.path))
            }
            other => other.map_err(self.place.failed(&to.path)),
        }
    }

    fn directory(&mut self, to: &Spotted<'_>, member: &Member) -> Result<(), UnpackError> {
        // Most directories of a layer are new.
        if !self.place.make_first(&to.parent, to.part)? {
            let there = to.parent.dir.child(&to.name).map_err(self.place.failed(&to.path))?;
            if let Child::Directory(dir) = there {
                self.place.found(dir, to.key.clone(), to.path.clone())?;
            } else {
                self.place.remove(&to.parent, to.part)?;
                self.place.make(&to.parent, to.part)?;
            }
        }
        self.place.describe(to.key.clone(), to.path.clone(), member.attributes.clone())
    }

    fn hide(&mut self, parts: &[&[u8]], hidden: &[u8], name: &[u8]) -> Result<(), UnpackError> {
        if hidden.is_empty() || hidden == b"." || hidden == b".." {
            return Err(UnpackError::Escapes { name: shown(name) });
        }
        self.how.names.check(hidden).map_err(|why| UnpackError::Name { name: shown(name), why })?;
        match self.how.target {
            Target::Flat => match self.place.existing(parts, name)? {
                Some(at) => whiteout::remove(&mut self.place, &at, hidden, &self.brought),
                None => Ok(()),
            },
            Target::Overlay(marks) => {
                let at = self.place.directory(parts, name)?;
                whiteout::mark(&mut self.place, &at, hidden, marks)
            }
        }
    }

    fn hide_all(&mut self, parts: &[&[u8]], name: &[u8]) -> Result<(), UnpackError> {
        match self.how.target {
            Target::Flat => match self.place.existing(parts, name)? {
                Some(at) => whiteout::remove_all(&mut self.place, &at, &self.brought),
                None => Ok(()),
            },
            Target::Overlay(marks) => {
                let at = self.place.directory(parts, name)?;
                at.dir.make_opaque(marks).map_err(self.place.failed(&at.path))
            }
        }
    }

    /// Refuses a second spelling of a name that this layer has used.
    fn check_case(&mut self, parts: &[&[u8]], name: &[u8]) -> Result<(), UnpackError> {
        let Names { fold: true, .. } = self.how.names else { return Ok(()) };
        let (mut key, mut exact) = (Vec::new(), Vec::new());
        for part in parts {
            key.extend(self.how.names.key(part));
            exact.extend_from_slice(part);
            match self.spelled.get(&key) {
                Some(known) if *known == exact => {}
                Some(known) => return Err(UnpackError::Case { name: shown(name), other: shown(known) }),
                None => {
                    self.place.remember(key.len() + exact.len())?;
                    self.spelled.insert(key.clone(), exact.clone());
                }
            }
            key.push(b'/');
            exact.push(b'/');
        }
        Ok(())
    }

    fn refused(&mut self, name: &[u8], refused: Refused) {
        for (what, error) in refused {
            self.warn(name, &format!("{what}: {error}"));
        }
    }

    /// Once for a layer: of Windows itself nearly every file has some, and no other warning would find room.
    fn tell_of_extended(&mut self, name: &[u8]) {
        if !std::mem::replace(&mut self.told_of_extended, true) {
            self.warn(name, "extended attributes of Windows are left out, here and in the rest of the layer");
        }
    }

    fn warn(&mut self, name: &[u8], what: &str) {
        if self.report.warnings.len() < MOST_WARNINGS {
            self.report.warnings.push(warning(name, what));
        }
    }

    /// Gives directories their attributes, which every file in them would have changed again.
    pub(super) fn finish(mut self) -> Result<Report, UnpackError> {
        self.place.settle()?;
        self.report.replaced = self.place.has_removed();
        for (path, refused) in self.place.take_short() {
            self.refused(path.strip_suffix(b"/").unwrap_or(&path), refused);
        }
        let (base, root, seen) = self.place.into_seen();
        let mut trail = Trail::new(&root.dir);
        for (path, seen) in seen {
            let shown_path = Path::new(String::from_utf8_lossy(&path).as_ref()).to_owned();
            let failed = |source| UnpackError::Write { path: base.join(&shown_path), source };
            let attributes = match seen {
                Seen::Described(attributes) | Seen::Found(attributes) => attributes,
                Seen::Made => {
                    self.report.implied.push(shown_path.clone());
                    Attributes { mode: Some(0o755), ..Attributes::default() }
                }
            };
            for (what, error) in trail.set(&path, &attributes).map_err(failed)? {
                if self.report.warnings.len() < MOST_WARNINGS {
                    self.report.warnings.push(warning(&path, &format!("{what}: {error}")));
                }
            }
        }
        self.report.implied.reverse();
        if self.how.sync {
            root.dir.sync().map_err(|source| UnpackError::Write { path: base, source })?;
        }
        Ok(self.report)
    }
}
