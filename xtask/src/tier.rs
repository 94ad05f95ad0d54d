//! The gate's tiers: what they are called, what they need and how hard they may be driven.

use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// In the order of the gate: cheap answers first, last what takes minutes to compile and does so beside the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tier {
    /// Formatting, lints, licences
    Lint,
    /// Pure code and everything without a prefix
    Unit,
    /// Real processes on Linux
    Twin,
    /// Against a real control plane
    Cluster,
    /// Judged by programs that are not ours
    Foreign,
    /// Each fuzz target for a short time
    Fuzz,
    /// The Windows executable under Wine
    Wine,
}

/// What a tier's tests need before they start; made with progress lines instead of inside a silent test.
#[derive(Debug)]
pub(crate) struct Needs {
    pub(crate) packages: &'static [&'static str],
    pub(crate) go_tools: &'static [&'static str],
    /// Tests of one program that run at once; none leaves it to the number of cores.
    pub(crate) threads: Option<usize>,
    /// A test program that runs longer hangs.
    pub(crate) limit: Duration,
}

/// Ten times what the longest program takes: it may have a neighbour, and the machine other work.
const LIMIT: Duration = Duration::from_secs(20 * 60);
const CONTROL_PLANE: &[&str] =
    &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm", "kubectl"];

// === impl Tier ===

impl Tier {
    pub(crate) fn all() -> &'static [Tier] {
        Self::value_variants()
    }

    /// An integration test's tier is the prefix of its name.
    pub(crate) fn of_target(name: &str) -> Tier {
        match name.split_once('_').map_or(name, |(prefix, _)| prefix) {
            "twin" => Tier::Twin,
            "wine" => Tier::Wine,
            "cluster" => Tier::Cluster,
            "foreign" => Tier::Foreign,
            _ => Tier::Unit,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Tier::Lint => "lint",
            Tier::Unit => "unit",
            Tier::Twin => "twin",
            Tier::Fuzz => "fuzz",
            Tier::Wine => "wine",
            Tier::Cluster => "cluster",
            Tier::Foreign => "foreign",
        }
    }

    /// How many of its programs run at once: as asked for, or what a machine of that many cores can bear.
    pub(crate) fn lanes(self, asked: Option<usize>, cores: usize) -> usize {
        match self {
            // Its tests drive wineservers that take seconds to start and to end even alone.
            Tier::Wine => 1,
            // A fuzz target computes, on one core; tests mostly wait, but for no longer than they have patience.
            Tier::Fuzz => asked.unwrap_or(cores),
            _ => asked.unwrap_or_else(|| cores.min(2)),
        }
    }

    pub(crate) fn needs(self) -> Needs {
        let plain = Needs { packages: &[], go_tools: &[], threads: None, limit: LIMIT };
        match self {
            Tier::Lint | Tier::Unit => plain,
            Tier::Twin => {
                Needs { packages: &["iproute2", "util-linux", "zstd"], go_tools: &["registry"], ..plain }
            }
            // libFuzzer's runtime is C++.
            Tier::Fuzz => Needs { packages: &["g++"], ..plain },
            // A Wine prefix brings half a dozen processes, a control plane half a gigabyte.
            Tier::Wine => Needs { go_tools: &["registry"], threads: Some(2), ..plain },
            Tier::Cluster => Needs {
                packages: &["iproute2", "util-linux"],
                go_tools: CONTROL_PLANE,
                threads: Some(1),
                ..plain
            },
            Tier::Foreign => Needs {
                packages: &["skopeo", "busybox-static"],
                go_tools: &["registry", "agnhost", "containerd", "containerd-shim-runc-v2", "ctr"],
                threads: Some(2),
                ..plain
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_targets_prefix_is_its_tier() {
        assert_eq!(Tier::of_target("twin_job"), Tier::Twin);
        assert_eq!(Tier::of_target("wine_up"), Tier::Wine);
        assert_eq!(Tier::of_target("cluster_control_plane"), Tier::Cluster);
        assert_eq!(Tier::of_target("foreign_registry"), Tier::Foreign);
        assert_eq!(Tier::of_target("twinned"), Tier::Unit);
        assert_eq!(Tier::of_target("cli"), Tier::Unit);
    }

    #[test]
    fn lanes_are_as_many_as_asked_for_or_two_where_there_are_cores() {
        assert_eq!([1, 2, 16].map(|cores| Tier::Twin.lanes(None, cores)), [1, 2, 2]);
        assert_eq!([1, 2, 16].map(|cores| Tier::Fuzz.lanes(None, cores)), [1, 2, 16]);
        assert_eq!([Tier::Unit, Tier::Fuzz, Tier::Wine].map(|tier| tier.lanes(Some(3), 2)), [3, 3, 1]);
    }

    #[test]
    fn tiers_are_written_as_they_are_typed() {
        for tier in Tier::all() {
            let typed = tier.to_possible_value().expect("has a value");
            assert_eq!(tier.name(), typed.get_name());
            assert_eq!(serde_json::to_string(tier).expect("serializes"), format!("\"{}\"", tier.name()));
        }
    }

    #[test]
    fn every_needed_go_tool_exists() {
        let known: Vec<_> = testbed::tools::go::GO_TOOLS.iter().map(|tool| tool.name).collect();
        for tool in Tier::all().iter().flat_map(|tier| tier.needs().go_tools) {
            assert!(known.contains(tool), "{tool}");
        }
    }
}
