//! Entries that are neither files nor directories.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use os::tree::{Attributes, Node};

use super::super::error::{UnpackError, shown};
use super::super::members::Member;
use super::super::place::name;
use super::{Application, Spotted};

// === impl Application ===

impl Application<'_> {
    pub(super) fn symlink(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        target: &[u8],
        directory: bool,
    ) -> Result<(), UnpackError> {
        let why = "its text is none that a link can have here";
        let text = os::tree::name(target)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| UnpackError::Name { name: shown(&member.name), why })?;
        let directory = directory || self.how.names.windows && self.leads_to_directory(to, Path::new(&text));
        self.fresh(to, |dir, name| dir.symlink(name, &text, directory))?;
        // A link has no mode of its own.
        let attributes = Attributes { mode: None, ..member.attributes.clone() };
        let set = to.parent.dir.set_child(&to.name, &attributes);
        self.refused(&member.name, set.map_err(self.place.failed(&to.path))?);
        Ok(())
    }

    fn leads_to_directory(&mut self, to: &Spotted<'_>, text: &Path) -> bool {
        let from: Vec<&[u8]> =
            to.parent.path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
        let Ok(way) = self.place.way(text, b"") else { return false };
        let from = if way.rooted { Vec::new() } else { from };
        let all: Vec<&[u8]> = from.into_iter().chain(way.steps.iter().map(Vec::as_slice)).collect();
        matches!(self.place.existing(&all, b""), Ok(Some(_)))
    }

    pub(super) fn hard_link(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        target: &[u8],
    ) -> Result<(), UnpackError> {
        let how = self.how;
        let missing = || UnpackError::LinkTarget { name: shown(&member.name), to: shown(target) };
        let mut parts = how.names.parts(target, how.layout, &how.limits)?.ok_or_else(missing)?;
        let last = parts.pop().ok_or_else(missing)?;
        // A layer of Windows may name streams (`file:stream`), but to link to one would mean a drive: `C:file`.
        how.names.check(last).map_err(|why| UnpackError::Name { name: shown(target), why })?;
        let from = self.place.existing(&parts, target)?.ok_or_else(missing)?;
        let source = name(last)?;
        let link = |dir: &os::tree::Dir, name: &OsStr| dir.hard_link(name, &from.dir, &source);
        match link(&to.parent.dir, &to.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if to.parent.dir.same(&to.name, &from.dir, &source).map_err(self.place.failed(&to.path))? {
                    return Ok(());
                }
                self.place.remove(&to.parent, to.part)?;
                link(&to.parent.dir, &to.name).map_err(|_| missing())
            }
            other => other.map_err(self.place.failed(&to.path)),
        }
    }

    /// Says whether it was made: what this account or system cannot make is left out, and said.
    pub(super) fn node(
        &mut self,
        to: &Spotted<'_>,
        member: &Member,
        node: Node,
    ) -> Result<bool, UnpackError> {
        let why = match node {
            // In a layer for overlayfs it would hide a file.
            Node::Character(0, 0) => Some("the device 0:0 is a mark of overlayfs and is left out"),
            _ if self.how.names.windows => Some("Windows has no device files and fifos, it is left out"),
            Node::Character(..) | Node::Block(..) if !os::elevated() => {
                Some("only root can make devices, it is left out")
            }
            _ => None,
        };
        if let Some(why) = why {
            self.warn(&member.name, why);
            return Ok(false);
        }
        self.fresh(to, |dir, name| dir.node(name, node, 0o600))?;
        let set = to.parent.dir.set_child(&to.name, &member.attributes);
        self.refused(&member.name, set.map_err(self.place.failed(&to.path))?);
        Ok(true)
    }
}
