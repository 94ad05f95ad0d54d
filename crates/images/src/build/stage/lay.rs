//! Layers of a stage: what instructions asked for, without what the base has.

use std::fs::File;
use std::rc::Rc;

use super::super::below::Below;
use super::super::layer::{self, Shape};
use super::super::output::Layer;
use super::super::patient::Patient;
use super::super::tree::Tree;
use super::super::{BuildError, Request, Scope, path};
use super::{Stage, Stages};
use crate::unpack;

// === impl Stages ===

impl Stages<'_> {
    /// Makes a layer of what instructions asked for, if anything is left of it above the base; whether it is.
    pub(super) fn lay(
        &mut self,
        stage: &mut Stage,
        mut tree: Tree,
        text: &str,
        line: usize,
    ) -> Result<bool, BuildError> {
        if stage.foreign > 0 && !stage.windows && tree.has_own_directory() {
            let below = self.below(stage, line)?;
            tree.imply_those(|path| below.is_directory(path));
        }
        stage.know(&tree);
        let laid = !tree.is_implied();
        if laid {
            stage.add_layer(&tree, text, line, self.scope)?;
        }
        Ok(laid)
    }

    /// The directories of a stage's base. Read when they are asked for: that takes as long as its layers are large.
    fn below(&mut self, stage: &Stage, line: usize) -> Result<Rc<Below>, BuildError> {
        let layers = &stage.image.layers[..stage.foreign];
        let digests: Vec<_> = layers.iter().map(|layer| layer.digest().to_owned()).collect();
        if let Some(known) = self.below.get(&digests) {
            return Ok(known.clone());
        }
        let mut below = Below::new(unpack::Limits::default());
        for layer in layers {
            let digest = layer.digest().to_owned();
            let path = self.scope.blobs.join(digest.trim_start_matches("sha256:"));
            let file = File::open(&path).map_err(|source| BuildError::Read { path, source })?;
            let file = Patient { from: file, caller: self.scope.request.caller };
            let added = unpack::list(file, None).and_then(|listed| below.add(listed));
            added.map_err(|source| BuildError::Below { line, digest, source })?;
        }
        let below = Rc::new(below);
        self.below.insert(digests, below.clone());
        Ok(below)
    }

    /// Directories that no file came into.
    pub(super) fn finish(&mut self, stage: &mut Stage, line: usize) -> Result<(), BuildError> {
        let pending = std::mem::replace(&mut stage.pending, Tree::new(stage.windows));
        if pending.is_empty() {
            return Ok(());
        }
        let text = format!("WORKDIR {}", path::shown(&stage.workdir, stage.windows));
        self.lay(stage, pending, &text, line).map(drop)
    }
}

// === impl Stage ===

impl Stage {
    pub(super) fn add_layer(
        &mut self,
        tree: &Tree,
        text: &str,
        line: usize,
        scope: &Scope<'_>,
    ) -> Result<(), BuildError> {
        let shape = match (self.windows, self.foreign) {
            (true, _) => Shape::Windows,
            (false, 1..) => Shape::LinuxOver,
            (false, 0) => Shape::Linux,
        };
        let Request { time, caller, .. } = *scope.request;
        let written = layer::write(tree, shape, time, scope.blobs, caller)
            .map_err(|source| BuildError::Layer { line, source })?;
        self.image.layers.push(Layer::of(&written));
        self.image.config.note(text, Some(&written.diff_id), scope.request.time);
        self.know(tree);
        Ok(())
    }

    /// From now on these directories are there.
    fn know(&mut self, tree: &Tree) {
        for (path, _) in tree.iter().filter(|(_, node)| node.is_directory()) {
            self.known.directory(path);
        }
    }
}
