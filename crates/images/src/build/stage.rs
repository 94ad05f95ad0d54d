//! Stages: from `FROM` to an image, and what one takes from another.

mod instruction;
mod lay;
mod outline;
mod platform;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use super::base::Origin;
use super::below::Below;
use super::config::Config;
use super::dockerfile::{Dockerfile, What};
use super::output::Layer;
use super::patient::Patient;
use super::tree::Tree;
use super::{BuildError, Request, Scope};
use crate::document::Platform;
use crate::platform::{Os, Processor, os_and_processor};
use crate::reference::Reference;
use crate::unpack::{self, Layout};
use outline::{Outline, Part};

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

/// The files of a stage or an image in a directory of this host.
#[derive(Debug, Clone)]
struct Unpacked {
    dir: PathBuf,
    /// Whether its links are those of Windows.
    windows: bool,
}

struct Stages<'a> {
    scope: &'a Scope<'a>,
    outline: Outline<'a>,
    built: BTreeMap<usize, Stage>,
    /// The stage that everything is based on, from when it was looked at for its platform.
    begun: Option<(usize, Stage)>,
    /// What `COPY --from` has unpacked.
    unpacked: BTreeMap<String, Unpacked>,
    /// The directories of bases, by the digests of their layers.
    below: BTreeMap<Vec<String>, Rc<Below>>,
    warnings: &'a mut Vec<String>,
}

/// The image of the stage that is wanted; stages that it does not need are not built.
pub(super) fn run(scope: &Scope<'_>, warnings: &mut Vec<String>) -> Result<Image, BuildError> {
    let Request { dockerfile, args, target, .. } = *scope.request;
    let outline = Outline::of(dockerfile, args, target, &assumed(scope.os, scope.processor))?;
    let wanted = outline.wanted()?;
    let (unpacked, built, begun, below) = (BTreeMap::new(), BTreeMap::new(), None, BTreeMap::new());
    let mut stages = Stages { scope, outline, built, begun, unpacked, below, warnings };
    stages.aim(wanted)?;
    Ok(stages.stage(wanted)?.image)
}

/// The images of registries that the wanted stage and those that it needs start from or copy from.
pub(super) fn references(
    dockerfile: &Dockerfile,
    args: &BTreeMap<String, String>,
    target: Option<&str>,
    os: Option<Os>,
    processor: &Processor,
) -> Result<Vec<Reference>, BuildError> {
    Outline::of(dockerfile, args, target, &assumed(os, processor))?.references()
}

/// What is made, as long as the base has not said it.
fn assumed(os: Option<Os>, processor: &Processor) -> Platform {
    processor.platform(os.unwrap_or(Os::Windows))
}

// === impl Stages ===

impl Stages<'_> {
    /// The platform that is made is that of the image which everything is based on. To find it, one was assumed.
    fn aim(&mut self, wanted: usize) -> Result<(), BuildError> {
        let mut at = wanted;
        while let Some(earlier) = self.outline.stage_below(at)? {
            at = earlier;
        }
        let part = self.outline.part(at);
        let stage = self.start(at, &part, &Scope { own_base: true, ..*self.scope })?;
        self.outline.read_globals(&stage.image.platform())?;
        self.begun = Some((at, stage));
        Ok(())
    }

    fn stage(&mut self, at: usize) -> Result<Stage, BuildError> {
        if let Some(stage) = self.built.get(&at) {
            return Ok(stage.clone());
        }
        let part = self.outline.part(at);
        let mut stage = self.start(at, &part, self.scope)?;
        for instruction in part.body {
            self.follow(&mut stage, at, instruction)?;
        }
        let last = part.body.last().unwrap_or(part.from).line;
        self.finish(&mut stage, last)?;
        self.built.insert(at, stage.clone());
        Ok(stage)
    }

    fn start(&mut self, at: usize, part: &Part<'_>, scope: &Scope<'_>) -> Result<Stage, BuildError> {
        if let Some((_, begun)) = self.begun.take_if(|(known, _)| *known == at) {
            return Ok(begun);
        }
        if let Some(earlier) = self.outline.stage_below(at)? {
            let below = self.stage(earlier)?;
            return Ok(Stage { own_cmd: false, ..below });
        }
        let What::From { platform, .. } = &part.from.what else { unreachable!("parts start with FROM") };
        let (line, image) = (part.from.line, self.outline.image(part)?);
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
        let text = self.outline.expand(text, line)?;
        os_and_processor(&text).map_err(|source| BuildError::Platform { line, source })
    }

    fn start_from(&mut self, image: &str, scope: &Scope<'_>, line: usize) -> Result<Stage, BuildError> {
        let origin = Origin::parse(image, line, scope.request.context)?;
        if origin == Origin::HostProcess && image != super::base::HOST_PROCESS {
            self.warnings.push(format!(
                "line {line}: {image} is made here, with hives that Windows Server 2025 takes"
            ));
        }
        let base = origin.load(image, scope, line)?;
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
    fn unpacked(&mut self, name: &str, at: usize, line: usize) -> Result<Unpacked, BuildError> {
        if let Some(known) = self.unpacked.get(name) {
            return Ok(known.clone());
        }
        let stage = match self.outline.stage_copied(name, at, line)? {
            Some(earlier) => self.stage(earlier)?,
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
        let unpacked = Unpacked { dir, windows: stage.windows };
        self.unpacked.insert(name.to_owned(), unpacked.clone());
        Ok(unpacked)
    }
}
