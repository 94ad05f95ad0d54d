//! What this host must be able to do for containers to start: `doctor` says whether it can. `up` asks before anything else
//! only where it runs without limits; an account with all rights meets what is missing at the container that needs it.

use os::probe::Capability;

/// When a capability is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Where jobs have no limits, because namespaces take the place of jobs there.
    WithoutLimits,
}

/// By the ids of capabilities, in the order in which they are named to people. Each system has only some of them.
pub const NEEDED: [(&str, When); 6] = [
    ("job-objects", When::Always),
    ("user-namespace", When::WithoutLimits),
    ("mount-namespace", When::Always),
    ("pid-namespace", When::WithoutLimits),
    ("overlayfs", When::Always),
    ("pidfd", When::Always),
];

/// What is needed and not there.
pub fn missing(capabilities: &[Capability], limits: bool) -> Vec<&Capability> {
    let needed = NEEDED.iter().filter(|(_, when)| !limits || *when == When::Always);
    needed.filter_map(|(id, _)| capabilities.iter().find(|known| known.id == *id && !known.found)).collect()
}
