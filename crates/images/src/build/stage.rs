//! Stages: from `FROM` to an image, and what one takes from another.

mod instruction;
mod lay;
mod platform;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use super::base::Origin;
use super::below::Below;
use super::config::Config;
use super::dockerfile::{self, Instruction, What};
use super::output::Layer;
use super::patient::Patient;
use super::tree::Tree;
use super::{BuildError, Scope};
use crate::document::Platform;
use crate::platform::{Os, Processor, os_and_processor};
use crate::unpack::{self, Layout};

/// A finished stage.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub(super) config: Config,
    pub(super) layers: Vec<Layer>,
}

/// A stage while its instructions are followed.
#[derive(Debug, Clone)]
struct Stage {
    image: Image,
    windows: bool,
    /// So many layers of others are below: their directories keep their modes.
    foreign: usize,
    workdir: String,
    args: BTreeMap<String, String>,
    /// The base's command is for the base's entry point.
    own_cmd: bool,
    /// Every directory that instructions made.
    known: Tree,
    /// Directories that the next layer takes along.
    pending: Tree,
}

/// One `FROM` with what follows it.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    from: &'a Instruction,
    body: &'a [Instruction],
}

struct Stages<'a> {
    scope: &'a Scope<'a>,
    parts: Vec<Part<'a>>,
    /// What is declared before the first `FROM`, and what every build has.
    globals: BTreeMap<String, String>,
    built: BTreeMap<usize, Stage>,
    /// The stage that everything is based on, from when it was looked at for its platform.
    begun: Option<(usize, Stage)>,
    /// What `COPY --from` has unpacked.
    unpacked: BTreeMap<String, PathBuf>,
    /// The directories of bases, by the digests of their layers.
    below: BTreeMap<Vec<String>, Rc<Below>>,
    warnings: &'a mut Vec<String>,
}

/// The image of the stage that is wanted; stages that it does not need are not built.
pub(super) fn run(scope: &Scope<'_>, warnings: &mut Vec<String>) -> Result<Image, BuildError> {
    let instructions = &scope.request.dockerfile.instructions;
    let parts = parts(instructions);
    let (globals, unpacked, built) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let (begun, below) = (None, BTreeMap::new());
    let mut stages = Stages { scope, parts, globals, built, begun, unpacked, below, warnings };
    stages.read_globals(instructions, &scope.processor.platform(scope.os.unwrap_or(Os::Windows)))?;
    let wanted = stages.wanted()?;
    stages.aim(wanted, instructions)?;
    Ok(stages.stage(wanted)?.image)
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

// === impl Part ===

impl Part<'_> {
    fn name(&self) -> Option<&str> {
        match &self.from.what {
            What::From { stage, .. } => stage.as_deref(),
            _ => None,
        }
    }
}

// === impl Stages ===

impl Stages<'_> {
    /// The platform that is made is that of the image which everything is based on. To find it, one was assumed.
    fn aim(&mut self, wanted: usize, instructions: &[Instruction]) -> Result<(), BuildError> {
        let mut at = wanted;
        while let Some(earlier) = self.stage_below(at)? {
            at = earlier;
        }
        let part = self.parts[at];
        let stage = self.start(at, &part, &Scope { own_base: true, ..*self.scope })?;
        self.read_globals(instructions, &stage.image.platform())?;
        self.begun = Some((at, stage));
        Ok(())
    }

    fn read_globals(&mut self, instructions: &[Instruction], target: &Platform) -> Result<(), BuildError> {
        let known = platform::arguments(target);
        self.globals.extend(known.map(|(name, value)| (name.to_owned(), value)));
        for instruction in instructions {
            let What::Arg(args) = &instruction.what else { break };
            for (name, default) in args {
                let given = self.scope.request.args.get(name).cloned();
                let value = match (given, default) {
                    (Some(given), _) => Some(given),
                    (None, Some(default)) => Some(self.expand_global(default, instruction.line)?),
                    (None, None) => None,
                };
                value.and_then(|value| self.globals.insert(name.clone(), value));
            }
        }
        Ok(())
    }

    fn expand_global(&self, text: &str, line: usize) -> Result<String, BuildError> {
        let escape = self.scope.request.dockerfile.escape;
        dockerfile::expand(text, escape, &|name| self.globals.get(name).cloned())
            .map_err(|why| why.at(line).into())
    }

    fn wanted(&self) -> Result<usize, BuildError> {
        let Some(target) = self.scope.request.target else { return Ok(self.parts.len() - 1) };
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

    fn stage(&mut self, at: usize) -> Result<Stage, BuildError> {
        if let Some(stage) = self.built.get(&at) {
            return Ok(stage.clone());
        }
        let part = self.parts[at];
        let mut stage = self.start(at, &part, self.scope)?;
        for instruction in part.body {
            self.follow(&mut stage, at, instruction)?;
        }
        let last = part.body.last().unwrap_or(part.from).line;
        self.finish(&mut stage, last)?;
        self.built.insert(at, stage.clone());
        Ok(stage)
    }

    /// The image that a stage starts from, as its `FROM` names it.
    fn image(&self, part: &Part<'_>) -> Result<String, BuildError> {
        let What::From { image, .. } = &part.from.what else { unreachable!("parts start with FROM") };
        self.expand_global(image, part.from.line)
    }

    /// The stage that this one starts from, if it is one.
    fn stage_below(&self, at: usize) -> Result<Option<usize>, BuildError> {
        let image = self.image(&self.parts[at])?;
        Ok(self.earlier(&image, at).filter(|at| self.parts[*at].name().is_some()))
    }

    fn start(&mut self, at: usize, part: &Part<'_>, scope: &Scope<'_>) -> Result<Stage, BuildError> {
        if let Some((_, begun)) = self.begun.take_if(|(known, _)| *known == at) {
            return Ok(begun);
        }
        if let Some(earlier) = self.stage_below(at)? {
            let below = self.stage(earlier)?;
            return Ok(Stage { own_cmd: false, ..below });
        }
        let What::From { platform, .. } = &part.from.what else { unreachable!("parts start with FROM") };
        let (line, image) = (part.from.line, self.image(part)?);
        let platform = platform.as_ref().map(|text| self.platform(text, line)).transpose()?;
        let scope = match &platform {
            Some((os, processor)) => Scope { os: Some(*os), processor, ..*scope },
            None => *scope,
        };
        let mut stage = self.start_from(&image, &scope, line)?;
        if let Some(version) = scope.os_version.filter(|_| scope.own_base) {
            stage.image.config.top.insert("os.version".to_owned(), version.into());
        }
        Ok(stage)
    }

    fn platform(&self, text: &str, line: usize) -> Result<(Os, Processor), BuildError> {
        let text = self.expand_global(text, line)?;
        os_and_processor(&text).map_err(|source| BuildError::Platform { line, source })
    }

    fn start_from(&mut self, image: &str, scope: &Scope<'_>, line: usize) -> Result<Stage, BuildError> {
        let origin = Origin::parse(image, scope.request.context).map_err(|source| BuildError::Origin {
            line,
            image: image.to_owned(),
            source,
        })?;
        if origin == Origin::HostProcess && image != super::base::HOST_PROCESS {
            self.warnings.push(format!(
                "line {line}: {image} is made here, with hives that Windows Server 2025 takes"
            ));
        }
        let base = origin.load(image, scope)?;
        let windows = base.config.text("os") == Some("windows");
        let foreign = if matches!(origin, Origin::Image(_)) { base.layers.len() } else { 0 };
        let workdir = base.config.word("WorkingDir").unwrap_or_default();
        let workdir = super::path::place(workdir, "", windows)
            .map_err(|source| BuildError::Path { line, source })?
            .path;
        let mut stage = Stage {
            windows,
            foreign,
            workdir,
            args: BTreeMap::new(),
            own_cmd: false,
            known: Tree::new(windows),
            pending: Tree::new(windows),
            image: Image { config: base.config, layers: base.layers },
        };
        if let Some(dir) = base.dir {
            let tree = instruction::whole(&dir, line, windows)?;
            stage.add_layer(&tree, &format!("FROM {image}"), line, scope)?;
        }
        Ok(stage)
    }

    /// The files of a stage or an image, for `COPY --from`.
    fn unpacked(&mut self, name: &str, at: usize, line: usize) -> Result<PathBuf, BuildError> {
        if let Some(dir) = self.unpacked.get(name) {
            return Ok(dir.clone());
        }
        let stage = match self.earlier(name, at) {
            Some(earlier) => self.stage(earlier)?,
            None if name.parse::<usize>().is_ok() => {
                return Err(BuildError::Stage { line, stage: name.to_owned() });
            }
            None => {
                let scope = *self.scope;
                self.start_from(name, &scope, line)?
            }
        };
        let dir = self.scope.work.join(format!("from-{}", self.unpacked.len()));
        std::fs::create_dir_all(&dir).map_err(|source| BuildError::Write { path: dir.clone(), source })?;
        let layout = if stage.windows { Layout::Windows } else { Layout::Plain };
        for layer in &stage.image.layers {
            let path = self.scope.blobs.join(layer.digest().trim_start_matches("sha256:"));
            let file = File::open(&path).map_err(|source| BuildError::Read { path, source })?;
            let file = Patient { from: file, caller: self.scope.request.caller };
            unpack::apply(file, &dir, layout)
                .map_err(|source| BuildError::Unpack { image: name.to_owned(), source })?;
        }
        self.unpacked.insert(name.to_owned(), dir.clone());
        Ok(dir)
    }
}
