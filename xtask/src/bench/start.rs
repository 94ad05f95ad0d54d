//! How long it takes until a HostProcess container runs, through the library, and how that grows from 1 to 110 pods.
//!
//! containerd with runc stands beside it for orientation only: it isolates, and a HostProcess container does not. Its
//! time is that of its own client, which is a process that starts each time.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use testbed::guard::Guard;
use testbed::process::wait_for;
use testbed::tools::{cargo, progress};

use super::containerd::{Containerd, Peer};
use super::{Limit, Measured, ROUNDS, memory, percentile};
use crate::gate::suite::static_fixture;

pub(super) const LIMITS: &[Limit] = &[
    Limit { series: "start p50 ms, 1 pod", at_most: 50.0 },
    Limit { series: "start p50 ms, 10 pods", at_most: 50.0 },
    Limit { series: "start p50 ms, 110 pods", at_most: 50.0 },
    Limit { series: "start p99 ms, 110 pods", at_most: 200.0 },
    Limit { series: "stats ms, 110 pods", at_most: 50.0 },
    Limit { series: "agent MiB, 110 pods", at_most: 40.0 },
    Limit { series: "MiB for each pod, 110 pods", at_most: 1.0 },
];

const PODS: [usize; 3] = [1, 10, 110];
/// The peer is measured as often, with fewer: its containers take longer, and its growth is not what is promised.
const PEER_PODS: [usize; 2] = [1, 10];
const PATIENCE: Duration = Duration::from_secs(60);

/// What the example says of itself when all runs.
#[derive(Debug, Deserialize)]
struct Said {
    starts: Vec<f64>,
    stats: Vec<f64>,
}

pub(super) fn run() -> Result<Measured> {
    let (programs, peer) = (Programs::provide()?, Peer::provide()?);
    let mut measured = Measured::default();
    measured
        .note("different isolation: containerd's containers have namespaces, HostProcess containers do not");
    measured.note("the peer's time includes the start of its client, ctr");
    for round in 1..=ROUNDS {
        for pods in PODS {
            programs.ours(pods, &mut measured)?;
        }
        for pods in PEER_PODS {
            theirs(&peer, pods, &mut measured)?;
        }
        println!("round {round}: {}", figures(&measured));
    }
    let of = |name: String| measured.series.get(&name).cloned().unwrap_or_default();
    let (ours, theirs) = (of(p50(10)), of(peer_p50(10)));
    let growth = |name: fn(usize) -> String, pods: &[usize]| {
        let median = |pods: usize| percentile(&of(name(pods)), 50);
        pods.iter().map(|pods| (u32::try_from(*pods).unwrap_or(u32::MAX), median(*pods))).collect()
    };
    let (growth, peer_growth) = (growth(p50, &PODS), growth(peer_p50, &PEER_PODS));
    Ok(Measured { ours, peer: theirs, growth, peer_growth, ..measured })
}

fn counted(pods: usize) -> String {
    format!("{pods} pod{}", if pods == 1 { "" } else { "s" })
}

fn p50(pods: usize) -> String {
    format!("start p50 ms, {}", counted(pods))
}

fn peer_p50(pods: usize) -> String {
    format!("containerd and runc p50 ms, {}", counted(pods))
}

fn figures(measured: &Measured) -> String {
    let last = |(name, values): (&String, &Vec<f64>)| {
        format!("{name} {:.1}", values.last().copied().unwrap_or_default())
    };
    measured.series.iter().map(last).collect::<Vec<_>>().join("; ")
}

/// Each container by a client of its own, as `ctr run` is used.
fn theirs(peer: &Peer, pods: usize, measured: &mut Measured) -> Result<()> {
    let guard = Guard::new("bench")?;
    let containerd = Containerd::start(&guard, peer)?;
    let mut starts = Vec::new();
    for number in 0..pods {
        let begun = Instant::now();
        containerd.run(number)?;
        starts.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    containerd.stop(pods)?;
    measured.add(peer_p50(pods), percentile(&starts, 50));
    Ok(())
}

struct Programs {
    fixture: PathBuf,
    starter: PathBuf,
    holder: PathBuf,
}

// === impl Programs ===

impl Programs {
    fn provide() -> Result<Self> {
        Ok(Self {
            fixture: static_fixture()?,
            starter: built("start", &["--release", "--package", "runtime", "--example", "start"])?,
            holder: super::holder()?,
        })
    }

    fn ours(&self, pods: usize, measured: &mut Measured) -> Result<()> {
        let guard = Guard::new("bench")?;
        let (root, app) = (guard.dir().join("root"), guard.dir().join("app"));
        fs::create_dir(&app)?;
        fs::copy(&self.fixture, app.join("fixture")).context("copy the fixture")?;
        let mut command = Command::new(&self.starter);
        command.args([&root, &app, &self.holder]).arg(pods.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = guard.mark(&mut command).spawn().context("start the starter")?;
        let mut line = String::new();
        let said = child.stdout.take().context("the starter has a stdout")?;
        BufReader::new(said).read_line(&mut line)?;
        let said: Said = serde_json::from_str(&line).with_context(|| format!("the starter said {line:?}"))?;
        ensure!(said.starts.len() == pods, "{} of {pods} pods were started", said.starts.len());
        let (agent, holders) = (memory::mib(child.id())?, root.join("bin"));
        let per_pod = memory::settled_mean("holders", pods, |exe| exe.starts_with(&holders))?;
        drop(child.stdin.take());
        ensure!(child.wait()?.success(), "the starter could not remove its pods");
        wait_for("the holders' end", PATIENCE, || {
            Ok(memory::running(|exe| exe.starts_with(&holders))?.is_empty().then_some(()))
        })?;
        measured.add(p50(pods), percentile(&said.starts, 50));
        measured.add(format!("start p99 ms, {}", counted(pods)), percentile(&said.starts, 99));
        measured.add(format!("stats ms, {}", counted(pods)), percentile(&said.stats, 50));
        measured.add(format!("agent MiB, {}", counted(pods)), agent);
        measured.add(format!("MiB for each pod, {}", counted(pods)), per_pod);
        Ok(())
    }
}

pub(super) fn built(name: &str, words: &[&str]) -> Result<PathBuf> {
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(words);
    let output = progress::step(&format!("build {name}"), || progress::run(&mut command))?;
    let built = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == name);
    built.map(|built| built.path).with_context(|| format!("cargo named no {name}"))
}
