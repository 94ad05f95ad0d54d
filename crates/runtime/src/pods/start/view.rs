//! What a container will see: its image made ready, mount points on the host, links.

use std::path::{Path, PathBuf};

use os::view::{Bind, Propagation, View};
use plan::mounts::{self, Step};

use super::Starting;
use crate::config::Mode;
use crate::effects::EffectError;
use crate::error::StartError;
use crate::fail;
use crate::journal::Effect;
use crate::prepare::{Prepared, Room, files};

/// What of a container's view is there already.
struct Built<'a> {
    room: &'a Room,
    files: files::Made,
    binds: Vec<Bind>,
}

fn passed_on(planned: mounts::Propagation) -> Propagation {
    match planned {
        mounts::Propagation::Private => Propagation::Private,
        mounts::Propagation::Slave => Propagation::Slave,
        mounts::Propagation::Shared => Propagation::Shared,
    }
}

// === impl Starting ===

impl Starting<'_> {
    pub(super) fn view(&mut self, prepared: &Prepared) -> Result<View, StartError> {
        let mut built = self.image(prepared)?;
        for step in &prepared.volumes.steps {
            match step {
                Step::MakeSource { path } => {
                    std::fs::create_dir_all(path)
                        .map_err(|source| StartError::Make { what: path.clone(), source })?;
                    fail::point("source-made");
                }
                Step::Bind { source, target, readonly, shallow, propagation, file } => {
                    let bind = Bind {
                        source: source.into(),
                        target: target.into(),
                        readonly: *readonly,
                        shallow: *shallow,
                        propagation: passed_on(*propagation),
                        file: *file,
                    };
                    self.bind(&mut built, bind)?;
                }
                Step::Link { at, to, file } => self.link(&built, Path::new(at), Path::new(to), *file)?,
            }
        }
        let Built { files, binds, .. } = built;
        let readonly_image = self.config.readonly_image && files.overlay.is_some();
        Ok(View { overlay: files.overlay, binds, scratch_bytes: self.config.scratch_bytes, readonly_image })
    }

    fn image<'p>(&mut self, prepared: &'p Prepared) -> Result<Built<'p>, StartError> {
        let (room, dir) = (&prepared.room, &self.container.dir);
        match &room.copy {
            Some(copy) => self.journal.record(&Effect::Tree { path: copy.clone() })?,
            None if prepared.mode != Mode::Bind => drop(self.mount_point(&room.image, false)?),
            None => {}
        }
        let files = files::make(room, &self.config.image, dir, self.config.scratch_bytes.is_some())
            .map_err(|source| StartError::Make { what: dir.scratch().display().to_string(), source })?;
        fail::point("scratch-made");
        let copy = room.copy.clone().filter(|copy| *copy != room.image);
        let target = room.image.clone();
        let bind = |source| Bind { source, target, ..Bind::default() };
        Ok(Built { room, files, binds: copy.map(bind).into_iter().collect() })
    }

    fn bind(&mut self, built: &mut Built<'_>, bind: Bind) -> Result<(), StartError> {
        let in_image = bind.target.starts_with(&built.room.image);
        if in_image && built.room.copy.is_some() {
            // Windows makes no mapping below another one.
            let linked = self.link(built, &bind.target, &bind.source, bind.file);
            let elsewhere = built.binds.iter().any(|bound| bound.source == bind.source);
            return if elsewhere { self.or_without(&bind.target, linked) } else { linked };
        }
        // HP-11: what is hidden by a mount is hidden from this container alone, and nobody should be surprised.
        if !in_image && self.mount_point(&bind.target, bind.file)? {
            let path = bind.target.display();
            let text = format!("the mount at {path} hides what the host has there from this container");
            self.warnings.push(text);
        }
        built.binds.push(bind);
        Ok(())
    }

    fn mount_point(&mut self, path: &Path, file: bool) -> Result<bool, EffectError> {
        self.runtime.inner.node.made.mount_point(&mut self.journal, path, file)
    }

    /// A volume that is bound already is there without its link in the image, which is for what knows it from symlink
    /// mode; a file system that makes no links cannot have that.
    fn or_without(&mut self, at: &Path, linked: Result<(), StartError>) -> Result<(), StartError> {
        match linked {
            Err(StartError::Effect(EffectError::Link { source, .. }))
                if source.kind() == std::io::ErrorKind::Unsupported =>
            {
                self.warnings.push(format!("{} is not there: {source}", at.display()));
                Ok(())
            }
            other => other,
        }
    }

    /// A link in the image, or in the volume that is linked above it.
    fn link(&mut self, built: &Built<'_>, at: &Path, to: &Path, file: bool) -> Result<(), StartError> {
        let room = built.room;
        let outer = room.volumes.iter().rev().find(|volume| volume.at != at && at.starts_with(&volume.at));
        if let Some(outer) = outer {
            let path = outer.source.join(at.strip_prefix(&outer.at).unwrap_or(at));
            return Ok(self.runtime.inner.node.made.link(&mut self.journal, &path, to, file)?);
        }
        let inside: PathBuf = at.strip_prefix(&room.image).unwrap_or(at).into();
        let done = built.files.link(&inside, to, file, &room.layers);
        fail::point("link-made");
        Ok(done.map_err(|source| EffectError::Link { path: at.to_owned(), source })?)
    }
}
