//! What the sources of an instruction name.

use super::super::BuildError;
use super::super::glob::Glob;
use super::super::ignore::Above;
use super::{Copying, Found, joined, name_of};

// === impl Copying ===

impl Copying<'_> {
    /// What a source names: itself, or what its pattern matches.
    pub(super) fn find(&self, source: &str) -> Result<Vec<Found>, BuildError> {
        let mut here = vec![Found { relative: String::new(), above: Above::default() }];
        let mut plain = true;
        for part in parts_of(source) {
            let glob = Glob::parse(part, false)
                .ok_or_else(|| BuildError::Pattern { line: self.line, pattern: source.to_owned() })?;
            plain &= glob.is_plain();
            let mut next = Vec::new();
            for found in &here {
                next.extend(self.below(found, &glob)?);
            }
            here = next;
        }
        let mut kept = self.kept(here);
        if plain && kept.is_empty() {
            return Err(self.missing(source));
        }
        // A directory that a source names is copied whatever its name: what is excluded is something in it.
        kept.retain(|each| !self.excludes(&each.relative) || self.is_directory(&each.relative));
        Ok(kept)
    }

    fn below(&self, found: &Found, glob: &Glob) -> Result<Vec<Found>, BuildError> {
        let names = self.names(&self.at(&found.relative)?)?;
        let matching = names.into_iter().filter(|name| glob.matches(name));
        Ok(matching
            .map(|name| {
                let relative = joined(&found.relative, &name);
                let (_, above) = self.ignore.leaves_out(&relative, &found.above);
                Found { relative, above }
            })
            .collect())
    }

    /// Without what is ignored. A directory whose content may come back stays.
    fn kept(&self, mut found: Vec<Found>) -> Vec<Found> {
        found.retain(|each| {
            let left_out = !each.relative.is_empty() && self.left_out(&each.relative);
            !left_out || self.ignore.has_exceptions() && self.is_directory(&each.relative)
        });
        found
    }

    fn left_out(&self, relative: &str) -> bool {
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        let (mut out, mut above) = (false, Above::default());
        for end in ends {
            (out, above) = self.ignore.leaves_out(&relative[..end], &above);
        }
        out
    }

    /// By the path from the root, or by the name, however deep.
    pub(super) fn excludes(&self, relative: &str) -> bool {
        self.exclude.iter().any(|glob| glob.matches(relative) || glob.matches(name_of(relative)))
    }

    fn missing(&self, source: &str) -> BuildError {
        let relative = parts_of(source).join("/");
        let ignored = self.at(&relative).is_ok_and(|path| path.symlink_metadata().is_ok());
        let root = self.root.dir().to_owned();
        BuildError::Missing { line: self.line, source_name: source.to_owned(), root, ignored }
    }
}

/// Sources cannot climb: what is above the root is the root.
fn parts_of(source: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}
