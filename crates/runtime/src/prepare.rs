//! One container's start, from configuration, image and host: everything is judged here, and nothing is touched.
//!
//! The rules are `plan`'s; here they meet the host: which of the places a program may be at really has it, what
//! stands at a volume's source, whom the host knows. Done twice: when a container is made, so that what cannot work
//! is refused before anything happened, and when it is started, because hosts change.

use std::path::{Path, PathBuf};

use os::host::HostFacts;
use plan::command::{NothingToRun, Words};
use plan::drive::Root;
use plan::environment::Environment;
use plan::mounts::{MountError, Plan};
use plan::start::{Start, StartError};
use plan::{MOUNT_POINT, Style};

use crate::config::{ContainerConfig, Mode, Options, PodConfig, UnknownMode};
use crate::failure::{self, FailureMode};
use crate::ids::ContainerId;
use crate::layout::{ContainerDir, Layout};

pub(crate) use environment::bare as bare_environment;
pub(crate) use limits::check as check_limits;
pub use limits::{LimitsRefused, of_cri};
pub use room::{LookError, Room};
pub use whom::AccountRefused;
pub(crate) use whom::Whom;

mod environment;
pub(crate) mod files;
mod limits;
mod room;
mod volumes;
mod whom;

/// What a container is judged against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) facts: &'a HostFacts,
    pub(crate) options: &'a Options,
}

/// A container that can be started, as far as can be seen from outside.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) mode: Mode,
    pub(crate) room: Room,
    pub(crate) whom: Whom,
    pub(crate) volumes: Plan,
    pub(crate) start: Start,
    pub(crate) env: Environment,
    pub(crate) warnings: Vec<String>,
    /// What is missing here without keeping it from starting.
    pub(crate) noticed: Vec<FailureMode>,
}

/// Why a container cannot be started here.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error("the name {0:?}: wanted 1 to 253 characters, none of which controls anything")]
    Name(String),
    #[error(
        "container {name:?} says hostProcess: {container} and its pod {pod}: wanted the same for all of a pod"
    )]
    Mixed { name: String, container: bool, pod: bool },
    #[error(transparent)]
    Mode(#[from] UnknownMode),
    #[error("the image is in layers, which this host cannot lay one upon the other")]
    Layers,
    #[error(transparent)]
    Account(#[from] AccountRefused),
    #[error(transparent)]
    Mounts(#[from] MountError),
    #[error("look at {path}, the source of a mount")]
    Source { path: String, source: std::io::Error },
    #[error(transparent)]
    Limits(#[from] LimitsRefused),
    #[error(transparent)]
    Command(#[from] NothingToRun),
    #[error(transparent)]
    Start(#[from] StartError<LookError>),
}

/// The notation of the host this runs on.
pub fn host_style() -> Style {
    if os::path::WINDOWS { Style::Windows } else { Style::Unix }
}

/// By what the host's paths are read.
pub(crate) fn host_root(facts: &HostFacts) -> Root<'_> {
    Root { style: host_style(), drive: facts.system_drive.as_deref().unwrap_or_default() }
}

/// A path of the host with its drive.
pub(crate) fn on_host(path: &Path, facts: &HostFacts) -> PathBuf {
    match host_style() {
        Style::Unix => path.to_owned(),
        Style::Windows => host_root(facts).place(&text(path)).into(),
    }
}

/// Whether containers get copies of their images here, for want of layers that can be laid one upon the other.
pub(crate) fn needs_copies() -> bool {
    host_style() == Style::Windows
}

/// Judges a container. `account` is the environment of the account that it runs as, once that is known.
pub(crate) fn prepare(
    host: Host<'_>,
    pod: &PodConfig,
    config: &ContainerConfig,
    id: &ContainerId,
    dir: &ContainerDir,
    account: Option<Vec<(String, String)>>,
) -> Result<Prepared, PrepareError> {
    if let Some(container) = config.host_process.filter(|container| *container != pod.host_process) {
        let (name, pod) = (config.name.clone(), pod.host_process);
        return Err(PrepareError::Mixed { name, container, pod });
    }
    let (mut warnings, mut noticed) = (Vec::new(), Vec::new());
    let mode = mode(pod, &mut warnings, &mut noticed)?;
    let whom = whom::whom(config, host, &mut warnings)?;
    limits::check(&config.limits)?;
    let (image, root) = (image_path(host.layout, mode, id), host_root(host.facts));
    let volumes = volumes::plan(config, dir, mode, &image, root)?;
    warnings.extend(volumes.warnings.iter().cloned());
    look_for_token(config, mode, &image, &mut warnings, &mut noticed);
    let mut room = Room::new(image, &config.image, mode, host.layout.copy(id))?;
    room.furnish(&volumes);
    let env = environment::merge(config, &room.image, account);
    let words = words(config)?;
    let directory =
        if config.working_dir.is_empty() { &config.image.runs.working_dir } else { &config.working_dir };
    let start = room.start(&words, directory, env.get("PATH").unwrap_or_default(), root)?;
    room.cwd = PathBuf::from(&start.cwd);
    Ok(Prepared { mode, room, whom, volumes, start, env, warnings, noticed })
}

/// The pod's choice; bind where nothing is chosen. A host that cannot bind links instead, and says so.
fn mode(
    pod: &PodConfig,
    warnings: &mut Vec<String>,
    noticed: &mut Vec<FailureMode>,
) -> Result<Mode, UnknownMode> {
    let wanted = pod.wanted_mode()?.unwrap_or(Mode::Bind);
    match os::view::bind_works() {
        Err(why) if wanted == Mode::Bind => {
            warnings.push(format!(
                "volumes are links below the image, as this host cannot show a container files of its own: {why}"
            ));
            noticed.push(FailureMode::BindFilterMissing);
            Ok(Mode::Symlink)
        }
        _ => Ok(wanted),
    }
}

/// Clients inside a cluster look for their token at one path, which only bind mode gives them.
fn look_for_token(
    config: &ContainerConfig,
    mode: Mode,
    image: &Path,
    warnings: &mut Vec<String>,
    noticed: &mut Vec<FailureMode>,
) {
    let token = config.mounts.iter().find(|mount| failure::is_token_path(&mount.container_path));
    if let Some(mount) = token.filter(|_| mode != Mode::Bind) {
        warnings.push(format!(
            "the service account's token is below {}, not at {}, where client libraries look for it",
            image.display(),
            mount.container_path
        ));
        noticed.push(FailureMode::TokenPathMissing);
    }
}

fn image_path(layout: &Layout, mode: Mode, id: &ContainerId) -> PathBuf {
    match mode {
        Mode::Bind => layout.hpc(),
        Mode::Symlink | Mode::Host => layout.hpc().join(id.as_str()),
    }
}

fn words(config: &ContainerConfig) -> Result<Vec<String>, NothingToRun> {
    let runs = &config.image.runs;
    let words =
        Words { entrypoint: &runs.entrypoint, cmd: &runs.cmd, command: &config.command, args: &config.args };
    words.resolve()
}

/// A path as text, in the host's notation.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
