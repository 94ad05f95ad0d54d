//! A container's volumes, with what stands at their sources.

use std::path::Path;

use os::file::Kind;
use os::view;
use plan::Style;
use plan::drive::Root;
use plan::mounts::{self, Container, Peers, Plan, Propagation, Source, Volume};

use super::{PrepareError, host_style, text};
use crate::config::{ContainerConfig, Mode, MountConfig};
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
            shallow: mount.shallow,
            source: source(&root.place(&mount.host_path))?,
            propagation: propagation(mount.propagation),
            peers: peers(mount)?,
        });
    }
    let last_words = text(&dir.termination());
    if let Some(termination) = &config.termination {
        volumes.push(Volume {
            host_path: &last_words,
            container_path: &termination.path,
            readonly: false,
            shallow: false,
            source: Source::File,
            propagation: Propagation::Private,
            peers: Peers::None,
        });
    }
    let image = text(image);
    Ok(mounts::plan(&volumes, &Container { root, mode: mode.into(), image: &image })?)
}

fn propagation(asked: view::Propagation) -> Propagation {
    match asked {
        view::Propagation::Private => Propagation::Private,
        view::Propagation::Slave => Propagation::Slave,
        view::Propagation::Shared => Propagation::Shared,
    }
}

/// Only those who want to know pay for a look.
fn peers(mount: &MountConfig) -> Result<Peers, PrepareError> {
    if mount.propagation.is_private() {
        return Ok(Peers::None);
    }
    match view::peers(Path::new(&mount.host_path)) {
        Ok(view::Peers::None) => Ok(Peers::None),
        Ok(view::Peers::Hears) => Ok(Peers::Hears),
        Ok(view::Peers::Shares) => Ok(Peers::Shares),
        Err(source) => Err(PrepareError::Source { path: mount.host_path.clone(), source }),
    }
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
