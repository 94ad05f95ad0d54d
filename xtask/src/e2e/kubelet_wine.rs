//! A stock kubelet.exe on porthole.exe, both under Wine: a Windows node of a real cluster, with static HostProcess pods.
//!
//! What is simulated below the two, and why, is in `docs/decisions/0009-a-kubelet-under-wine.md`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use testbed::api::Api;
use testbed::control_plane::{self, ControlPlane};
use testbed::cri::windows::WindowsNode;
use testbed::image;
use testbed::registry::{self, Registry};
use testbed::tools::{debian, progress, windows, windows_go_tool};

use super::checks::Found;
use super::{Claim, Trial, directory};
use checks::{CHECKS, Node};

mod checks;
mod pods;
mod told;

const PROVES: &[Claim] = &[
    Claim { id: "RT-01", level: "sim" },
    Claim { id: "HP-06", level: "sim" },
    Claim { id: "HP-06", level: "foreign" },
    Claim { id: "HP-23", level: "sim" },
];
const IMAGE: &str = "try/fixture:1";

pub(super) fn run(trial: &Trial) -> Result<bool> {
    debian::ensure(&["curl"])?;
    windows_go_tool("kubelet")?;
    let (fixture, program) = (windows::build_exe("fixture", "fixture", "dev")?, porthole(trial)?);
    let mut found = Found::default();
    let lived = progress::step("a kubelet.exe in a cluster", || {
        let registry = Registry::start(registry::Options::default())?;
        registry.push(&image::windows_program(&fixture)?.build()?, IMAGE)?;
        let plane = ControlPlane::start(control_plane::Options::default())?;
        Api::connect(&plane.kubeconfig())?.wait_for_account("default")?;
        let machine = WindowsNode::start(&plane, &program, &directory()?)?;
        let image = format!("{}/{IMAGE}", registry.address());
        let mut node = Node { plane, machine, image };
        found.check("node", CHECKS, &node);
        node.machine.check()
    });
    found.part("node", "porthole.exe and kubelet.exe run to the end", lived);
    found.conclude(trial, PROVES)
}

/// As a plain build makes it, unless another is to be judged.
fn porthole(trial: &Trial) -> Result<PathBuf> {
    match trial.program {
        Some(program) => program.canonicalize().with_context(|| format!("find {}", program.display())),
        None => windows::build_exe("porthole", "porthole", "dev"),
    }
}
