//! A container's volumes, with what stands at their sources.

use std::path::Path;

use os::file::Kind;
use plan::Style;
use plan::drive::Root;
use plan::mounts::{self, Container, Plan, Source, Volume};

use super::{PrepareError, host_style, text};
use crate::config::{ContainerConfig, Mode};
use crate::layout::ContainerDir;

pub(super) fn plan(
    config: &ContainerConfig,
    dir: &ContainerDir,
    mode: Mode,
    image: &Path,
    root: Root<'_>,
) -> Result<Plan, PrepareError> {
    let mut volumes = Vec::new();
    for mount in &config.mounts {
        volumes.push(Volume {
            host_path: &mount.host_path,
            container_path: &mount.container_path,
            readonly: mount.readonly,
            source: source(&root.place(&mount.host_path))?,
        });
    }
    let last_words = text(&dir.termination());
    if let Some(termination) = &config.termination {
        volumes.push(Volume {
            host_path: &last_words,
            container_path: &termination.path,
            readonly: false,
            source: Source::File,
        });
    }
    let image = text(image);
    Ok(mounts::plan(&volumes, &Container { root, mode: mode.into(), image: &image })?)
}

fn source(path: &str) -> Result<Source, PrepareError> {
    // To look at a pipe is to open it, and to look at another machine may take minutes. Neither is ours to judge.
    let elsewhere =
        host_style() == Style::Windows && path.starts_with(['\\', '/']) && path[1..].starts_with(['\\', '/']);
    if elsewhere || path.is_empty() {
        return Ok(Source::Directory);
    }
    match os::file::kind(Path::new(path)) {
        Ok(Kind::Directory) => Ok(Source::Directory),
        Ok(Kind::File | Kind::Other) => Ok(Source::File),
        Ok(Kind::Socket) => Ok(Source::Socket),
        Ok(Kind::Missing) => Ok(Source::Missing),
        Err(source) => Err(PrepareError::Source { path: path.to_owned(), source }),
    }
}
