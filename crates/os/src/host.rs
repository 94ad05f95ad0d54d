//! What this machine is: the facts that a node reports and that `doctor` prints.

use std::io;

use serde::Serialize;

use crate::sys;

#[derive(Clone, Debug, Serialize)]
pub struct HostFacts {
    /// `linux` or `windows`, as Kubernetes spells it.
    pub os: String,
    /// For people: "Debian GNU/Linux 12 (bookworm), Linux 6.18.44".
    pub os_version: String,
    pub windows_build: Option<WindowsBuild>,
    /// `amd64`, `arm64`: as Kubernetes spells it.
    pub architecture: String,
    pub hostname: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    /// Changes with every boot, and only then.
    pub boot_id: String,
    pub account: Account,
    /// What pretends to be Windows, for example `wine 10.0`.
    pub emulator: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WindowsBuild {
    pub major: u32,
    pub minor: u32,
    pub build: u32,
    pub revision: u32,
}

/// Whom this process runs as.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    pub name: String,
    /// The uid, or the SID.
    pub id: String,
    /// Root, or an administrator with the full token.
    pub elevated: bool,
}

pub fn facts() -> io::Result<HostFacts> {
    sys::host::facts()
}

/// This build's processor architecture in Kubernetes' words.
pub(crate) fn architecture() -> String {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
    .to_owned()
}
