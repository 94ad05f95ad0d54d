//! A container's variables: its account's, then its image's, then its own.

use std::path::Path;

use plan::environment::Environment;
use plan::mount_point::substitute;

use super::{MOUNT_POINT, Style, host_style, text};
use crate::config::ContainerConfig;

/// What of the host a container that runs as ourselves sees in its environment. Everything else of ours stays ours.
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

/// What a program that runs as ourselves is given of ours.
fn of_the_host() -> Vec<(String, String)> {
    FROM_HOST.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// What a program gets that is run inside a container of which no variables are known.
pub(crate) fn bare(image: &Path) -> Vec<(String, String)> {
    let mut env = of_the_account(None);
    env.set(MOUNT_POINT, &text(image));
    env.into_variables()
}

fn of_the_account(account: Option<Vec<(String, String)>>) -> Environment {
    let mut env = Environment::new(host_style());
    for (name, value) in account.unwrap_or_else(of_the_host) {
        env.set(&name, &value);
    }
    if env.get("PATH").is_none() && host_style() == Style::Unix {
        env.set("PATH", UNIX_PATH);
    }
    env
}

pub(super) fn merge(
    config: &ContainerConfig,
    image: &Path,
    account: Option<Vec<(String, String)>>,
) -> Environment {
    let mut env = of_the_account(account);
    let image = text(image);
    let replaced = |text: &str| substitute(text, &image, host_style());
    config.image.runs.env.iter().for_each(|entry| env.set_entry(&replaced(entry)));
    env.set(MOUNT_POINT, &image);
    for (name, value) in &config.env {
        env.set(name, &replaced(value));
    }
    env
}
