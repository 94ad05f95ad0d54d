//! A stock kubelet on `porthole cri`: static pods without a cluster, then a node of a real one, driven by kubectl.

use anyhow::{Context, Result};
use testbed::control_plane::{self, ControlPlane};
use testbed::cri::kubelet::Kubelet;
use testbed::cri::{Runtime, World};
use testbed::tools::{debian, go_tool, progress};

use super::checks::{Check, Found};
use super::{Claim, Trial, directory, porthole};
use crate::gate::suite::static_fixture;
use cluster::Cluster;

mod cluster;
mod down;
mod pods;
mod standalone;
mod streams;

const PROVES: &[Claim] = &[
    Claim { id: "RT-01", level: "foreign" },
    Claim { id: "HP-23", level: "foreign" },
    Claim { id: "HP-25", level: "cluster" },
    Claim { id: "HP-30", level: "cluster" },
];

pub(super) fn run(trial: &Trial) -> Result<bool> {
    debian::ensure(&["curl", "iptables"])?;
    go_tool("kubelet")?;
    let (fixture, program) = (static_fixture()?, porthole(trial)?);
    let mut found = Found::default();
    let alone = progress::step("a kubelet without a cluster", || {
        let world = World::start("kubelet-alone", &fixture, &[&program])?;
        let runtime = Runtime::porthole(&world, &program)?;
        let kubelet = Kubelet::standalone(&world, &runtime)?;
        let alone = standalone::Standalone { world, runtime };
        found.check("standalone", standalone::CHECKS, &alone);
        kubelet.stop(&alone.world)?;
        keep_logs(&alone.world, &["kubelet-standalone", "porthole"], "standalone")
    });
    found.part("standalone", "the kubelet starts and ends", alone);
    let joined = progress::step("a kubelet in a cluster", || {
        let plane = ControlPlane::start(control_plane::Options::default())?;
        let world = World::start("kubelet-joined", &fixture, &[&program])?;
        let address = world.machine.attach(&plane)?;
        let runtime = Runtime::porthole(&world, &program)?;
        let kubelet = Kubelet::joined(&world, &runtime, &plane, address)?;
        let cluster = Cluster::new(plane, world, runtime, program)?;
        for checks in [cluster::CHECKS, streams::CHECKS, down::CHECKS, cluster::LAST_CHECKS] {
            found.check("cluster", checks, &cluster);
        }
        kubelet.stop(&cluster.world)?;
        keep_logs(&cluster.world, &["kubelet-joined", "porthole"], "joined")
    });
    found.part("cluster", "the kubelet starts and ends", joined);
    found.conclude(trial, PROVES)
}

fn keep_logs(world: &World, names: &[&str], of: &str) -> Result<()> {
    for name in names {
        let kept = directory()?.join(format!("kubelet-{of}-{name}.log"));
        std::fs::copy(world.dir().join(format!("{name}.log")), kept)
            .with_context(|| format!("keep {name}'s log"))?;
    }
    Ok(())
}
