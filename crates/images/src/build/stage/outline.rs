//! What a Dockerfile says of its stages before any is made: what each starts from, and which of them are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::BuildError;
use super::super::base::Origin;
use super::super::dockerfile::{self, Dockerfile, Instruction, What};
use super::platform;
use crate::document::Platform;
use crate::reference::Reference;
use crate::source::Source;

pub(super) struct Outline<'a> {
    dockerfile: &'a Dockerfile,
    args: &'a BTreeMap<String, String>,
    target: Option<&'a str>,
    parts: Vec<Part<'a>>,
    /// What is declared before the first `FROM`, and what every build has.
    pub(super) globals: BTreeMap<String, String>,
}

/// One `FROM` with what follows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) from: &'a Instruction,
    pub(super) body: &'a [Instruction],
}

/// What a stage takes something from.
enum Giver {
    Stage(usize),
    Image { line: usize, name: String },
}

// === impl Outline ===

impl<'a> Outline<'a> {
    pub(super) fn of(
        dockerfile: &'a Dockerfile,
        args: &'a BTreeMap<String, String>,
        target: Option<&'a str>,
        platform: &Platform,
    ) -> Result<Outline<'a>, BuildError> {
        let parts = parts(&dockerfile.instructions);
        let mut outline = Outline { dockerfile, args, target, parts, globals: BTreeMap::new() };
        outline.read_globals(platform)?;
        Ok(outline)
    }

    pub(super) fn part(&self, at: usize) -> Part<'a> {
        self.parts[at]
    }

    /// What the first lines say, for an image of this platform.
    pub(super) fn read_globals(&mut self, target: &Platform) -> Result<(), BuildError> {
        let known = platform::arguments(target);
        self.globals.extend(known.map(|(name, value)| (name.to_owned(), value)));
        let dockerfile = self.dockerfile;
        for instruction in &dockerfile.instructions {
            let What::Arg(args) = &instruction.what else { break };
            for (name, default) in args {
                let given = self.args.get(name).cloned();
                let value = match (given, default) {
                    (Some(given), _) => Some(given),
                    (None, Some(default)) => Some(self.expand(default, instruction.line)?),
                    (None, None) => None,
                };
                value.and_then(|value| self.globals.insert(name.clone(), value));
            }
        }
        Ok(())
    }

    pub(super) fn expand(&self, text: &str, line: usize) -> Result<String, BuildError> {
        dockerfile::expand(text, self.dockerfile.escape, &|name| self.globals.get(name).cloned())
            .map_err(|why| why.at(line).into())
    }

    /// The stage that is to be built.
    pub(super) fn wanted(&self) -> Result<usize, BuildError> {
        let Some(target) = self.target else { return Ok(self.parts.len() - 1) };
        self.earlier(target, self.parts.len()).ok_or_else(|| {
            let names: Vec<_> = self.parts.iter().filter_map(Part::name).collect();
            let offers = if names.is_empty() { "none with a name".to_owned() } else { names.join(", ") };
            BuildError::Target { target: target.to_owned(), offers }
        })
    }

    /// The stage of this name or number before another.
    fn earlier(&self, name: &str, before: usize) -> Option<usize> {
        let by_name =
            (0..before).rev().find(|at| self.parts[*at].name().is_some_and(|n| n.eq_ignore_ascii_case(name)));
        by_name.or_else(|| name.parse().ok().filter(|at| *at < before))
    }

    /// The image that a stage starts from, as its `FROM` names it.
    pub(super) fn image(&self, part: &Part<'_>) -> Result<String, BuildError> {
        let What::From { image, .. } = &part.from.what else { unreachable!("parts start with FROM") };
        self.expand(image, part.from.line)
    }

    /// The stage that this one starts from, if it is one.
    pub(super) fn stage_below(&self, at: usize) -> Result<Option<usize>, BuildError> {
        let image = self.image(&self.parts[at])?;
        Ok(self.earlier(&image, at).filter(|at| self.parts[*at].name().is_some()))
    }

    /// The stage that `COPY --from` names, if it is no image.
    pub(super) fn stage_copied(
        &self,
        name: &str,
        at: usize,
        line: usize,
    ) -> Result<Option<usize>, BuildError> {
        match self.earlier(name, at) {
            None if name.parse::<usize>().is_ok() => Err(BuildError::Stage { line, stage: name.to_owned() }),
            found => Ok(found),
        }
    }

    /// The images of registries, or of this machine by such names, that the wanted stage needs.
    pub(super) fn references(&self) -> Result<Vec<Reference>, BuildError> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut left = vec![self.wanted()?];
        while let Some(at) = left.pop() {
            if !seen.insert(at) {
                continue;
            }
            for giver in self.givers(at)? {
                match giver {
                    Giver::Stage(earlier) => left.push(earlier),
                    Giver::Image { line, name } => found.extend(reference(&name, line)?),
                }
            }
        }
        Ok(found)
    }

    fn givers(&self, at: usize) -> Result<Vec<Giver>, BuildError> {
        let part = self.parts[at];
        let mut givers = vec![match self.stage_below(at)? {
            Some(earlier) => Giver::Stage(earlier),
            None => Giver::Image { line: part.from.line, name: self.image(&part)? },
        }];
        for Instruction { line, what, .. } in part.body {
            let What::Copy(copy) = what else { continue };
            let Some(name) = &copy.from else { continue };
            givers.push(match self.stage_copied(name, at, *line)? {
                Some(earlier) => Giver::Stage(earlier),
                None => Giver::Image { line: *line, name: name.clone() },
            });
        }
        Ok(givers)
    }
}

fn parts(instructions: &[Instruction]) -> Vec<Part<'_>> {
    let is_from = |each: &Instruction| matches!(each.what, What::From { .. });
    let starts: Vec<_> = (0..instructions.len()).filter(|at| is_from(&instructions[*at])).collect();
    let ends = starts.iter().skip(1).copied().chain([instructions.len()]);
    let part = |(start, end): (&usize, usize)| Part {
        from: &instructions[*start],
        body: &instructions[start + 1..end],
    };
    starts.iter().zip(ends).map(part).collect()
}

/// What of a registry is meant, if it is not a file or made here.
fn reference(name: &str, line: usize) -> Result<Option<Reference>, BuildError> {
    // Where files are does not matter.
    Ok(match Origin::parse(name, line, Path::new(""))? {
        Origin::Image(Source::Reference(reference)) => Some(reference),
        _ => None,
    })
}

// === impl Part ===

impl Part<'_> {
    fn name(&self) -> Option<&str> {
        match &self.from.what {
            What::From { stage, .. } => stage.as_deref(),
            _ => None,
        }
    }
}
