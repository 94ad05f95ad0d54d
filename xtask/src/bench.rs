//! `cargo xtask bench NAME`: a promise with a number, measured beside the program a user would pick instead.
//!
//! Ours and the peer are measured in turn, round by round, in one run on one machine, so that a busy minute hits both.
//! The outcome is `target/bench/NAME.json`, which is committed as `docs/proofs/bench-NAME.json`; a bar that is missed is
//! exit code 1.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use testbed::tools::{cargo, progress, repo_root};

use crate::results::{self, Stamp};

mod check;
mod containerd;
mod cri;
mod holder;
mod memory;
#[cfg(test)]
mod promises;
mod pull;
mod start;
mod webhook;

/// Fewer rounds say more about the machine than about the programs.
pub(crate) const ROUNDS: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which one; `list` names them
    name: String,
}

/// One promise.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) bar: Bar,
    /// What is measured: the committed outcome goes stale when these change.
    pub(crate) paths: &'static [&'static str],
    pub(crate) run: fn() -> Result<Measured>,
}

/// What was promised.
#[derive(Debug)]
pub(crate) enum Bar {
    /// Ours, alone and with more pods, is not above this.
    AtMost(f64),
    /// Each of these holds.
    Times(&'static [Goal]),
    /// Each of these figures is not above its own.
    Within(&'static [Limit]),
}

/// The greatest value that one of our figures may have.
#[derive(Debug)]
pub(crate) struct Limit {
    pub(crate) series: &'static str,
    pub(crate) at_most: f64,
}

/// One of our figures is at least so many times one of a peer's.
#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) ours: &'static str,
    pub(crate) peer: &'static str,
    pub(crate) times: f64,
}

/// What a bench hands back: a value per round, and how it grows with the number of pods.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) ours: Vec<f64>,
    pub(crate) peer: Vec<f64>,
    pub(crate) growth: BTreeMap<u32, f64>,
    pub(crate) peer_growth: BTreeMap<u32, f64>,
    /// The figures that a [`Goal`] or a [`Limit`] names, a value per round; `ours` and `peer` are those of the first goal.
    pub(crate) series: BTreeMap<String, Vec<f64>>,
    /// What a reader of the figures must know, each once.
    pub(crate) notes: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    ours: f64,
    peer: f64,
    unit: String,
    ratio: f64,
    n: usize,
    p50: f64,
    p99: f64,
    growth: BTreeMap<u32, f64>,
    peer_growth: BTreeMap<u32, f64>,
    bar: f64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    series: BTreeMap<String, f64>,
    /// How many values a series has that has not `n` of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    other_n: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    goals: Vec<Reached>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<Kept>,
    pass: bool,
    commit: String,
    /// The tree had changes that the commit does not have.
    dirty: bool,
    paths: &'static [&'static str],
}

/// What became of a [`Goal`]: the medians' ratio.
#[derive(Debug, Serialize)]
struct Reached {
    ours: &'static str,
    peer: &'static str,
    ratio: f64,
    bar: f64,
    pass: bool,
}

/// What became of a [`Limit`]: the median.
#[derive(Debug, Serialize)]
struct Kept {
    series: &'static str,
    value: f64,
    bar: f64,
    pass: bool,
}

/// The profiles, by which speed and size change while no line of code does.
const PROFILES: &str = "Cargo.toml";
/// How porthole builds the holder that it carries.
const HOLDERS_BUILD: &str = "crates/porthole/build.rs";

const BENCHES: &[Bench] = &[
    Bench {
        name: "holder",
        what: "proportional set size of the program that keeps a pod alive, beside containerd-shim-runc-v2",
        unit: "MiB",
        bar: Bar::AtMost(1.0),
        paths: &["crates/holder", "crates/os", HOLDERS_BUILD, PROFILES],
        run: holder::run,
    },
    Bench {
        name: "check",
        what: "documents that porthole check judges on one core, beside kubeconform -n 1 and the API server's dry-run",
        unit: "documents/s",
        bar: Bar::Times(check::GOALS),
        paths: &["crates/rules", "crates/porthole/src/check", "crates/porthole/src/check.rs", PROFILES],
        run: check::run,
    },
    Bench {
        name: "webhook",
        what: "99th percentile of 10,000 reviews, 8 in flight, over 20 certificate swaps, none lost, in 40 MiB",
        unit: "ms",
        bar: Bar::AtMost(10.0),
        paths: &["crates/rules", "crates/webhook", "crates/porthole/src/webhook.rs", PROFILES],
        run: webhook::run,
    },
    Bench {
        name: "pull",
        what: "images pulled from a registry on one core and unpacked, beside containerd and skopeo with umoci",
        unit: "MB/s",
        bar: Bar::Times(pull::GOALS),
        paths: &[
            "crates/images",
            "crates/os",
            "crates/porthole/src/image.rs",
            "crates/porthole/src/image",
            PROFILES,
        ],
        run: pull::run,
    },
    Bench {
        name: "start",
        what: "a HostProcess pod made and started through the library, its growth, memory and statistics",
        unit: "ms",
        bar: Bar::Within(start::LIMITS),
        paths: &[
            "crates/runtime",
            "crates/holder",
            "crates/images",
            "crates/os",
            "crates/plan",
            "crates/rules",
            HOLDERS_BUILD,
            PROFILES,
        ],
        run: start::run,
    },
    Bench {
        name: "cri",
        what: "host-network pods, ExecSync, exec and port-forward through the CRI socket, beside containerd",
        unit: "ms",
        bar: Bar::Within(cri::LIMITS),
        paths: &[
            "crates/cri",
            "crates/streaming",
            "crates/runtime",
            "crates/holder",
            "crates/images",
            "crates/os",
            "crates/plan",
            "crates/rules",
            "crates/porthole/src/cri.rs",
            HOLDERS_BUILD,
            PROFILES,
        ],
        run: cri::run,
    },
];

/// True when the bar was met.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if options.name == "list" {
        for bench in BENCHES {
            println!("{:<12} {} ({})", bench.name, bench.what, bench.bar.words(bench.unit));
        }
        return Ok(true);
    }
    let bench = BENCHES.iter().find(|bench| bench.name == options.name);
    let bench = bench.with_context(|| format!("no bench {}; see `cargo xtask bench list`", options.name))?;
    if cfg!(debug_assertions) {
        return optimised(bench.name);
    }
    // Before it is measured: what is committed in the minutes that it takes was not.
    let stamp = Stamp::now()?;
    let outcome = outcome(bench, (bench.run)()?, stamp);
    let dir = repo_root()?.join("target/bench");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let text = serde_json::to_string_pretty(&outcome)?;
    results::store(&dir.join(format!("{}.json", bench.name)), &text)?;
    println!("{text}");
    Ok(outcome.pass)
}

fn outcome(bench: &Bench, measured: Measured, stamp: Stamp) -> Outcome {
    let (ours, peer) = (percentile(&measured.ours, 50), percentile(&measured.peer, 50));
    let (goals, other_n) = (bench.bar.reached(&measured), measured.other_n());
    let limits = bench.bar.kept(&measured);
    Outcome {
        name: bench.name.into(),
        ours,
        peer,
        unit: bench.unit.into(),
        ratio: ratio(ours, peer),
        n: measured.ours.len(),
        p50: ours,
        p99: percentile(&measured.ours, 99),
        bar: bench.bar.figure(),
        pass: bench.bar.is_met(ours, &measured, &goals, &limits) && measured.ours.len() >= ROUNDS,
        growth: measured.growth,
        peer_growth: measured.peer_growth,
        series: measured.series.iter().map(|(name, values)| (name.clone(), percentile(values, 50))).collect(),
        other_n,
        notes: measured.notes,
        goals,
        limits,
        commit: stamp.commit,
        dirty: stamp.dirty,
        paths: bench.paths,
    }
}

/// Runs the bench in an optimised build of this program: where it is the client of a peer, a slow client would be
/// counted against that peer.
fn optimised(name: &str) -> Result<bool> {
    let program = released("xtask")?;
    let status = Command::new(&program).args(["bench", name]).status();
    Ok(status.with_context(|| format!("start {}", program.display()))?.success())
}

/// The program as users have it.
fn released_porthole() -> Result<PathBuf> {
    released("porthole")
}

fn released(name: &str) -> Result<PathBuf> {
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(["--release", "--package", name, "--bin", name]);
    let output = progress::step(&format!("build {name} for release"), || progress::run(&mut command))?;
    let built = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == name);
    built.map(|built| built.path).with_context(|| format!("cargo named no {name}"))
}

/// The program that holds pods, as porthole carries it.
pub(crate) fn holder() -> Result<PathBuf> {
    let words = ["--profile", "hold", "--package", "holder", "--bin", "porthole-hold"];
    start::built("porthole-hold", &words)
}

fn ratio(ours: f64, peer: f64) -> f64 {
    if peer > 0.0 { ours / peer } else { 0.0 }
}

// === impl Measured ===

impl Measured {
    fn add(&mut self, series: impl Into<String>, value: f64) {
        self.series.entry(series.into()).or_default().push(value);
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn other_n(&self) -> BTreeMap<String, usize> {
        let counts = self.series.iter().map(|(name, values)| (name.clone(), values.len()));
        counts.filter(|(_, count)| *count != self.ours.len()).collect()
    }
}

// === impl Bar ===

impl Bar {
    fn words(&self, unit: &str) -> String {
        match self {
            Self::AtMost(bar) => format!("≤ {bar} {unit}"),
            Self::Times(goals) => {
                let words = |goal: &Goal| format!("{} ≥ {} × {}", goal.ours, goal.times, goal.peer);
                goals.iter().map(words).collect::<Vec<_>>().join(", ")
            }
            Self::Within(limits) => {
                let words = |limit: &Limit| format!("{} ≤ {}", limit.series, limit.at_most);
                limits.iter().map(words).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The one figure of a promise: a greatest value, or the first goal's ratio.
    fn figure(&self) -> f64 {
        match self {
            Self::AtMost(bar) => *bar,
            Self::Times(goals) => goals.first().map_or(0.0, |goal| goal.times),
            Self::Within(limits) => limits.first().map_or(0.0, |limit| limit.at_most),
        }
    }

    fn reached(&self, measured: &Measured) -> Vec<Reached> {
        let Self::Times(goals) = self else { return Vec::new() };
        let median = |name: &str| measured.series.get(name).map_or(0.0, |values| percentile(values, 50));
        let reached = |goal: &Goal| {
            let ratio = ratio(median(goal.ours), median(goal.peer));
            Reached { ours: goal.ours, peer: goal.peer, ratio, bar: goal.times, pass: ratio >= goal.times }
        };
        goals.iter().map(reached).collect()
    }

    /// A figure that was not measured is not kept.
    fn kept(&self, measured: &Measured) -> Vec<Kept> {
        let Self::Within(limits) = self else { return Vec::new() };
        let kept = |limit: &Limit| {
            let values = measured.series.get(limit.series).map(Vec::as_slice).unwrap_or_default();
            let value = percentile(values, 50);
            let pass = !values.is_empty() && value <= limit.at_most;
            Kept { series: limit.series, value, bar: limit.at_most, pass }
        };
        limits.iter().map(kept).collect()
    }

    fn is_met(&self, ours: f64, measured: &Measured, goals: &[Reached], limits: &[Kept]) -> bool {
        match self {
            // Every point of the growth counts: a promise that holds for one pod only is none.
            Self::AtMost(bar) => measured.growth.values().chain([&ours]).all(|value| value <= bar),
            Self::Times(_) => goals.iter().all(|goal| goal.pass),
            Self::Within(_) => limits.iter().all(|limit| limit.pass),
        }
    }
}

/// The nearest-rank percentile; 0 of nothing.
fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ours: &[f64], growth: &[(u32, f64)]) -> Outcome {
        let bench = Bench {
            name: "b",
            what: "",
            unit: "MiB",
            bar: Bar::AtMost(1.0),
            paths: &[],
            run: || Ok(Measured::default()),
        };
        let growth = growth.iter().copied().collect();
        let measured = Measured { ours: ours.to_vec(), peer: vec![4.0; 5], growth, ..Measured::default() };
        outcome(&bench, measured, Stamp { commit: "c".into(), dirty: true })
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!((percentile(&values, 50), percentile(&values, 99)), (5.0, 10.0));
        assert_eq!(percentile(&[], 50), 0.0);
    }

    /// A path that is not there never changes, so the outcome would never go stale.
    #[test]
    fn all_that_a_bench_is_about_is_there() {
        let root = repo_root().expect("root");
        for Bench { name, paths, .. } in BENCHES {
            let gone: Vec<_> = paths.iter().filter(|path| !root.join(path).exists()).collect();
            assert!(gone.is_empty(), "{name}: {gone:?}");
        }
    }

    #[test]
    fn the_size_of_a_holder_is_about_its_profile_and_its_build_too() {
        let holder = BENCHES.iter().find(|bench| bench.name == "holder").expect("there");
        let root = repo_root().expect("root");
        let read = |path: &str| fs::read_to_string(root.join(path)).expect("readable");
        assert!(holder.paths.contains(&PROFILES) && read(PROFILES).contains("[profile.hold]"));
        assert!(
            holder.paths.contains(&HOLDERS_BUILD) && read(HOLDERS_BUILD).contains("\"--profile\", \"hold\"")
        );
    }

    #[test]
    fn the_bar_holds_for_every_number_of_pods() {
        assert!(judged(&[0.5; 5], &[(1, 0.5), (10, 1.0)]).pass);
        assert!(!judged(&[0.5; 5], &[(1, 0.5), (10, 1.1)]).pass);
        assert!(!judged(&[1.1; 5], &[]).pass);
    }

    #[test]
    fn every_limit_must_be_kept_and_measured() {
        const LIMITS: &[Limit] = &[Limit { series: "a", at_most: 5.0 }, Limit { series: "b", at_most: 1.0 }];
        let judged = |series: &[(&str, f64)]| {
            let bench = Bench {
                name: "b",
                what: "",
                unit: "ms",
                bar: Bar::Within(LIMITS),
                paths: &[],
                run: || Ok(Measured::default()),
            };
            let series = series.iter().map(|(name, value)| ((*name).to_owned(), vec![*value; 5])).collect();
            let measured = Measured { ours: vec![1.0; 5], series, ..Measured::default() };
            outcome(&bench, measured, Stamp { commit: "c".into(), dirty: false }).pass
        };
        assert!(judged(&[("a", 5.0), ("b", 1.0)]));
        assert!(!judged(&[("a", 5.1), ("b", 1.0)]));
        assert!(!judged(&[("a", 5.0)]), "b was not measured");
    }

    #[test]
    fn every_goal_must_be_reached() {
        const GOALS: &[Goal] =
            &[Goal { ours: "a", peer: "x", times: 3.0 }, Goal { ours: "b", peer: "x", times: 10.0 }];
        let bench = Bench {
            name: "b",
            what: "",
            unit: "1/s",
            bar: Bar::Times(GOALS),
            paths: &[],
            run: || Ok(Measured::default()),
        };
        let judged = |a: f64, b: f64| {
            let series = [("a", a), ("b", b), ("x", 1.0)]
                .map(|(name, value)| (name.to_owned(), vec![value; 5]))
                .into();
            let measured = Measured { ours: vec![a; 5], series, ..Measured::default() };
            outcome(&bench, measured, Stamp { commit: "c".into(), dirty: false })
        };
        assert!(judged(3.0, 10.0).pass);
        assert!(!judged(2.9, 11.0).pass);
        assert!(!judged(3.0, 9.0).pass);
        assert_eq!(bench.bar.words("1/s"), "a ≥ 3 × x, b ≥ 10 × x");
    }

    #[test]
    fn a_bench_of_a_tree_that_no_commit_has_says_so() {
        assert_eq!(serde_json::to_value(judged(&[0.5; 5], &[])).expect("writes")["dirty"], true);
    }

    #[test]
    fn too_few_rounds_do_not_pass() {
        assert!(!judged(&[0.5; 4], &[]).pass);
        assert_eq!(judged(&[0.5; 5], &[]).ratio, 0.125);
    }
}
