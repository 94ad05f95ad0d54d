//! Host Compute System and Host Network: what this Windows offers for process- and Hyper-V-isolated containers.
//!
//! A beginning: it only finds out what is there. `doctor` prints it; the backends that will call these functions ask
//! the same table first, so that a missing one is a refusal with a name and not a crash. Nothing is there on Linux.

use os::probe::{Capability, Probe, library_exports, service_registered};

mod exports;

const PROBES: &[Probe] = &[
    Probe {
        id: "containers-feature",
        what: "Windows feature Containers (host compute service)",
        without: "no process- or Hyper-V-isolated containers: Install-WindowsFeature Containers, then restart",
        try_it: containers_feature,
    },
    Probe {
        id: "computecore",
        what: "host compute functions (computecore.dll)",
        without: "no process- or Hyper-V-isolated containers",
        try_it: || present("computecore.dll", exports::COMPUTE),
    },
    Probe {
        id: "computenetwork",
        what: "host network functions (computenetwork.dll)",
        without: "no network for process- or Hyper-V-isolated containers",
        try_it: || present("computenetwork.dll", exports::NETWORK),
    },
    Probe {
        id: "computestorage",
        what: "image layer functions (computestorage.dll)",
        without: "no images for process- or Hyper-V-isolated containers",
        try_it: || present("computestorage.dll", exports::STORAGE),
    },
];

/// What of the host compute system is there; empty where there is none by nature.
pub fn probe() -> Vec<Capability> {
    if cfg!(windows) { PROBES.iter().map(Probe::run).collect() } else { Vec::new() }
}

fn containers_feature() -> Result<String, String> {
    service_registered("vmcompute")?;
    Ok("service vmcompute is registered".to_owned())
}

fn present(library: &str, functions: &[&str]) -> Result<String, String> {
    library_exports(library, functions)?;
    Ok(format!("all {} functions", functions.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_has_no_host_compute_system_and_windows_says_what_it_lacks() {
        let found = probe();
        assert_eq!(found.is_empty(), !cfg!(windows));
        assert!(found.iter().all(|it| !it.detail.is_empty()), "{found:?}");
    }

    #[test]
    fn no_function_is_asked_for_twice() {
        for table in [exports::COMPUTE, exports::NETWORK, exports::STORAGE] {
            let mut names = table.to_vec();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.len());
        }
    }
}
