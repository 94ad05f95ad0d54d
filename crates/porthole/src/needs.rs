//! What this host must be able to do for containers to start: `doctor` says whether it can. `up` and `cri` ask for the
//! build of Windows before anything else, and `up` for the rest only where it runs without limits; an account with all
//! rights meets what is missing at the container that needs it.

use anyhow::anyhow;
use os::host::HostFacts;
use os::probe::Capability;
use plan::support::{Build, Support};

use crate::failure::{Exit, Failure, code};

/// When a capability is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Where jobs have no limits, because namespaces take the place of jobs there.
    WithoutLimits,
    /// Where such namespaces are made by somebody who is not root.
    WithoutRoot,
}

/// What an account and its host leave open.
#[derive(Debug, Clone, Copy)]
pub struct Means {
    pub limits: bool,
    pub elevated: bool,
}

/// By the ids of capabilities, in the order in which they are named to people. Each system has only some of them.
pub const NEEDED: [(&str, When); 6] = [
    ("job-objects", When::Always),
    ("user-namespace", When::WithoutRoot),
    ("mount-namespace", When::Always),
    ("pid-namespace", When::WithoutLimits),
    ("overlayfs", When::Always),
    ("pidfd", When::Always),
];

/// What is needed and not there.
pub fn missing(capabilities: &[Capability], means: Means) -> Vec<&Capability> {
    let needed = NEEDED.iter().filter(|(_, when)| when.is_now(means));
    needed.filter_map(|(id, _)| capabilities.iter().find(|known| known.id == *id && !known.found)).collect()
}

/// What can be had on this build of Windows; everything where there is none.
pub fn support(host: &HostFacts) -> Support {
    let build = host.windows_build.map(|b| Build { number: b.build, revision: b.revision });
    build.map_or(Support::Full, Support::of)
}

/// A Windows on which nothing can be started is refused before anything is made (HP-35).
pub fn check_build() -> Result<(), Failure> {
    let host = os::host::facts().or_environment()?;
    match support(&host) {
        Support::TooOld => {
            let text = format!("this is Windows {}, {}", host.os_version, Support::TooOld.sentence());
            Err(Failure::new(code::ENVIRONMENT, anyhow!(text)))
        }
        Support::NeedsUpdateForBind | Support::Full => Ok(()),
    }
}

// === impl When ===

impl When {
    pub fn is_now(self, means: Means) -> bool {
        match self {
            When::Always => true,
            When::WithoutLimits => !means.limits,
            When::WithoutRoot => !means.limits && !means.elevated,
        }
    }
}
