//! What this machine can do, found out by trying wherever trying leaves nothing behind.
//!
//! The list is data: each system keeps a table of [`Probe`] records, and `doctor`, preflight checks and backends read
//! the results. A missing capability is reported with what follows from it, never assumed.

use std::io;

use serde::Serialize;

use crate::sys;

/// One capability, found or not.
#[derive(Clone, Debug, Serialize)]
pub struct Capability {
    pub id: &'static str,
    pub what: &'static str,
    pub found: bool,
    /// What was seen: a version, a count, or the reason it is missing.
    pub detail: String,
    /// What follows when it is missing.
    pub without: &'static str,
}

/// A row of a capability table: how to find out, and what to say.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub id: &'static str,
    pub what: &'static str,
    pub without: &'static str,
    /// `Ok` carries the detail of what was found, `Err` why it is missing.
    pub try_it: fn() -> Result<String, String>,
}

pub fn capabilities() -> Vec<Capability> {
    sys::probe::PROBES.iter().map(Probe::run).collect()
}

// === impl Probe ===

impl Probe {
    pub fn run(&self) -> Capability {
        let (found, detail) = match (self.try_it)() {
            Ok(detail) => (true, detail),
            Err(detail) => (false, detail),
        };
        Capability { id: self.id, what: self.what, found, detail, without: self.without }
    }
}

/// For probe functions: an error of the system as the detail of a missing capability.
pub(crate) fn refused(error: io::Error) -> String {
    error.to_string()
}

/// Whether Windows knows a service of that name, which is how an installed feature shows.
pub fn service_registered(name: &str) -> Result<(), String> {
    sys::probe::service_registered(name)
}

/// Whether optional system libraries are there, and which of the named functions they lack.
///
/// Libraries are only ever taken from System32; a system without them answers with an error that says so.
pub fn library_exports(library: &str, functions: &[&str]) -> Result<(), String> {
    sys::probe::library_exports(library, functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_says_what_it_is_and_what_follows_without_it() {
        let found = capabilities();
        assert!(!found.is_empty());
        for capability in &found {
            assert!(!capability.detail.is_empty(), "{} has no detail", capability.id);
            assert!(!capability.what.is_empty() && !capability.without.is_empty(), "{}", capability.id);
        }
    }

    #[test]
    fn capability_ids_are_unique() {
        let mut ids: Vec<_> = sys::probe::PROBES.iter().map(|probe| probe.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), sys::probe::PROBES.len());
    }
}
