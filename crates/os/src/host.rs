//! What this machine is: the facts that a node reports and that `doctor` prints.

use std::fmt;
use std::io;

use serde::Serialize;

use crate::sys;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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
    /// The drive that the system is on, `C:`; none where there are no drives.
    pub system_drive: Option<String>,
    pub account: Account,
    /// What pretends to be Windows, for example `wine 10.0`.
    pub emulator: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowsBuild {
    pub major: u32,
    pub minor: u32,
    pub build: u32,
    pub revision: u32,
}

/// Whom this process runs as.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
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

/// Changes with every boot, and only then.
pub fn boot_id() -> io::Result<String> {
    sys::host::boot_id()
}

// === impl WindowsBuild ===

impl WindowsBuild {
    /// Windows Server 2019, the first with what containers need.
    pub const OLDEST: u32 = 17763;
    /// On that build the bind filter's functions came with the update of July 2022.
    const BIND_FILTER_REVISION: u32 = 3165;

    pub fn is_supported(self) -> bool {
        self.build >= Self::OLDEST
    }

    /// Whether an update would bring the bind filter.
    pub fn lacks_bind_filter_update(self) -> bool {
        self.build == Self::OLDEST && self.revision < Self::BIND_FILTER_REVISION
    }
}

impl fmt::Display for WindowsBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.major, self.minor, self.build, self.revision)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn build(build: u32, revision: u32) -> WindowsBuild {
        WindowsBuild { major: 10, minor: 0, build, revision }
    }

    // proves: HP-35 pure
    #[test]
    fn windows_server_2019_is_the_oldest_that_is_supported() {
        for (number, supported) in
            [(14393, false), (17134, false), (17762, false), (17763, true), (26100, true)]
        {
            assert_eq!(build(number, 0).is_supported(), supported, "{number}");
        }
    }

    // proves: HP-35 pure
    #[test]
    fn only_windows_server_2019_before_july_2022_lacks_the_bind_filter_update() {
        let lacking = [(17763, 1), (17763, 3164)];
        let fine = [(17763, 3165), (17763, 7000), (18362, 1), (20348, 1)];
        assert!(
            lacking.iter().all(|(number, revision)| build(*number, *revision).lacks_bind_filter_update())
        );
        assert!(!fine.iter().any(|(number, revision)| build(*number, *revision).lacks_bind_filter_update()));
    }

    #[test]
    fn a_build_is_written_as_images_write_it() {
        assert_eq!(build(20348, 2582).to_string(), "10.0.20348.2582");
    }
}
