//! What keeping a pod alive costs: porthole-hold beside containerd's shim, each with one container that sleeps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use testbed::guard::Guard;
use testbed::process::{Daemon, wait_for};
use testbed::tools::progress;

use super::containerd::{Containerd, Peer};
use super::{Measured, ROUNDS, memory, percentile};
use crate::gate::suite::static_fixture;

const PODS: [usize; 2] = [1, 10];
/// How ours grows further; once, because it is no part of the comparison.
const MANY: usize = 110;
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run() -> Result<Measured> {
    let programs = Programs::provide()?;
    let (mut ours, mut peer) = ([vec![], vec![]], [vec![], vec![]]);
    for round in 1..=ROUNDS {
        for (at, pods) in PODS.into_iter().enumerate() {
            ours[at].push(programs.ours(pods)?);
            peer[at].push(programs.peer(pods)?);
            let value = |of: &[Vec<f64>; 2]| of[at].last().copied().unwrap_or_default();
            println!(
                "round {round}, {pods} pods: porthole-hold {:.3} MiB, shim {:.3} MiB",
                value(&ours),
                value(&peer)
            );
        }
    }
    let many = programs.ours(MANY)?;
    let growth = |of: &[Vec<f64>; 2]| [(1, percentile(&of[0], 50)), (10, percentile(&of[1], 50))].into();
    let mut measured = Measured { growth: growth(&ours), peer_growth: growth(&peer), ..Measured::default() };
    measured.growth.insert(110, many);
    [measured.ours, measured.peer] = [ours[0].clone(), peer[0].clone()];
    Ok(measured)
}

#[derive(Debug)]
struct Programs {
    fixture: PathBuf,
    porthole: PathBuf,
    peer: Peer,
}

// === impl Programs ===

impl Programs {
    fn provide() -> Result<Self> {
        Ok(Self { fixture: static_fixture()?, porthole: super::released_porthole()?, peer: Peer::provide()? })
    }

    /// Through `porthole up`, as a user starts pods.
    fn ours(&self, pods: usize) -> Result<f64> {
        let guard = Guard::new("bench")?;
        let root = guard.dir().join("root");
        fs::create_dir(guard.dir().join("app"))?;
        fs::copy(&self.fixture, guard.dir().join("app/fixture")).context("copy the fixture")?;
        let files = (0..pods).map(|number| write_pod(guard.dir(), number)).collect::<Result<Vec<_>>>()?;
        let mut command = Command::new(&self.porthole);
        command.args(["up", "--plain", "--root"]).arg(&root).args(files);
        let mut up = Daemon::spawn(&guard, "porthole", &mut command, guard.dir())?;
        let holders = root.join("bin");
        let mean = memory::settled_mean("holders", pods, |exe| exe.starts_with(&holders))
            .with_context(|| up.tail())?;
        progress::run(Command::new("kill").args(["-INT", &up.pid().to_string()]))?;
        wait_for("the holders' end", PATIENCE, || {
            Ok(memory::running(|exe| exe.starts_with(&holders))?.is_empty().then_some(()))
        })?;
        up.reap();
        Ok(mean)
    }

    /// Through containerd's own client: one shim for each container.
    fn peer(&self, pods: usize) -> Result<f64> {
        let guard = Guard::new("bench")?;
        let containerd = Containerd::start(&guard, &self.peer)?;
        for number in 0..pods {
            containerd.run(number)?;
        }
        let mean = memory::settled_mean("shims", pods, |exe| exe == self.peer.shim);
        containerd.stop(pods)?;
        mean
    }
}

fn write_pod(dir: &Path, number: usize) -> Result<PathBuf> {
    let path = dir.join(format!("pod-{number}.yaml"));
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{number}}}\nspec:\n  hostNetwork: true\n  \
         terminationGracePeriodSeconds: 1\n  securityContext: {{windowsOptions: {{hostProcess: true}}}}\n  \
         containers:\n  - {{name: main, image: \"dir:app\", command: [\"./fixture\", \"sleep\", \"3600\"]}}\n"
    );
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}
