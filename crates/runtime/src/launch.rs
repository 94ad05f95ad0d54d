//! One container's start, from pod, image and host.
//!
//! The rules are `plan`'s; here they meet the file system: which of the places a program may be at really
//! has it, and which directory stands for the image.

use std::io;
use std::path::{Path, PathBuf};

use holder::protocol::Launch;
use images::Image;
use k8s_openapi::api::core::v1::Container;
use os::job::JobName;
use plan::command::{NothingToRun, Words};
use plan::environment::Environment;
use plan::expand::expand;
use plan::mount_point::substitute;
use plan::start::StartError;
use plan::{MOUNT_POINT, Style};

use crate::admit::Asked;
use crate::layout::ContainerDir;
use rootfs::Rootfs;

mod rootfs;

#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error(transparent)]
    Command(#[from] NothingToRun),
    #[error(transparent)]
    Start(#[from] StartError<LookError>),
    #[error("prepare {path}")]
    Scratch { path: PathBuf, source: io::Error },
}

#[derive(Debug, thiserror::Error)]
#[error("look for {path} in the image")]
pub struct LookError {
    path: PathBuf,
    source: io::Error,
}

/// What of the host a HostProcess container sees in its environment. Everything else of ours stays ours.
const FROM_HOST: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "TZ",
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "TEMP",
    "TMP",
    "ProgramData",
    "ProgramFiles",
    "ALLUSERSPROFILE",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "COMPUTERNAME",
];
const UNIX_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The notation of the host this runs on.
pub fn host_style() -> Style {
    if std::path::MAIN_SEPARATOR == '\\' { Style::Windows } else { Style::Unix }
}

/// Plans the start of one attempt and makes the directories it needs.
pub fn prepare(
    asked: &Asked,
    image: &Image,
    id: String,
    job: JobName,
    dir: &ContainerDir,
    attempt: u32,
) -> Result<Launch, LaunchError> {
    let rootfs = Rootfs::make(image, &dir.scratch(attempt))?;
    let env = environment(&asked.container, image, &rootfs.path);
    let argv = command(&asked.container, image, &env)?;
    let directory = asked.container.working_dir.as_deref().unwrap_or(&image.runs.working_dir);
    let start = rootfs.start(&argv, directory, env.get("PATH").unwrap_or_default())?;
    Ok(Launch {
        id,
        job,
        program: start.program.into(),
        command_line: plan::quote::command_line(&start.argv),
        argv: start.argv,
        env: env.into_variables(),
        cwd: start.cwd.into(),
        overlay: rootfs.overlay,
        limits: asked.limits.clone(),
        log: dir.log(attempt),
        exit: dir.exit(attempt),
        ..Launch::default()
    })
}

fn command(container: &Container, image: &Image, env: &Environment) -> Result<Vec<String>, NothingToRun> {
    let words = Words {
        entrypoint: &image.runs.entrypoint,
        cmd: &image.runs.cmd,
        command: container.command.as_deref().unwrap_or_default(),
        args: container.args.as_deref().unwrap_or_default(),
    };
    let pod: Vec<&str> = container.env.iter().flatten().map(|variable| variable.name.as_str()).collect();
    // As a kubelet: only the pod's own variables are known to $(NAME), and only in the pod's own words.
    let known = |name: &str| pod.contains(&name).then(|| env.get(name)).flatten();
    let from_image = if words.command.is_empty() { words.entrypoint.len() } else { 0 };
    let words = words.resolve()?;
    Ok(words
        .into_iter()
        .enumerate()
        .map(|(i, word)| if i < from_image { word } else { expand(&word, known) })
        .collect())
}

fn environment(container: &Container, image: &Image, rootfs: &Path) -> Environment {
    let mut env = Environment::new(host_style());
    for name in FROM_HOST {
        if let Ok(value) = std::env::var(name) {
            env.set(name, &value);
        }
    }
    if env.get("PATH").is_none() && host_style() == Style::Unix {
        env.set("PATH", UNIX_PATH);
    }
    let rootfs = rootfs.to_string_lossy();
    let replaced = |text: &str| substitute(text, &rootfs, host_style());
    image.runs.env.iter().for_each(|entry| env.set_entry(&replaced(entry)));
    env.set(MOUNT_POINT, &rootfs);
    let mut earlier: Vec<&str> = Vec::new();
    for variable in container.env.iter().flatten() {
        let value = variable.value.as_deref().unwrap_or_default();
        let value = expand(value, |name| earlier.contains(&name).then(|| env.get(name)).flatten());
        env.set(&variable.name, &replaced(&value));
        earlier.push(&variable.name);
    }
    env
}

#[cfg(test)]
mod tests;
