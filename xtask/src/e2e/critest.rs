//! critest on porthole and on containerd, spec by spec; `docs/critest.md` is made from it.
//!
//! Red if fewer specs pass than before, or if one does not pass with us for which `docs/critest.toml` has no reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testbed::cri::critest::{self, Choice};
use testbed::cri::ginkgo::{Outcome, Spec};
use testbed::cri::{Runtime, World};
use testbed::tools::go::GO_TOOLS;
use testbed::tools::{progress, repo_root};

use super::{Claim, Trial, directory, porthole, proof_path};
use crate::gate::suite::static_fixture;
use crate::results;
use allowed::Allowed;

pub(super) mod allowed;
pub(super) mod page;

const PAGE: &str = "docs/critest.md";
const REASONS: &str = "docs/critest.toml";
const PEER: &str = "critest-containerd.json";
const PROVES: &[Claim] = &[Claim { id: "RT-01", level: "foreign" }];
/// critest speaks SPDY unless told otherwise, so the specs about streams run a second time.
pub(super) const CHOICES: &[Choice] = &[
    Choice { name: "all", args: &[], limit: Duration::from_secs(40 * 60) },
    Choice {
        name: "websocket",
        args: &[
            "--ginkgo.focus=Streaming",
            "--websocket-exec",
            "--websocket-attach",
            "--websocket-portforward",
        ],
        limit: Duration::from_secs(10 * 60),
    },
];

/// What both runtimes made of the suite.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    critest: String,
    containerd: String,
    passed: usize,
    specs: Vec<Row>,
}

/// One spec: containerd's result and ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    peer: Option<Outcome>,
    pub(super) ours: Option<Outcome>,
    /// What critest said of ours when it did not pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    said: String,
}

pub(super) fn run(trial: &Trial) -> Result<bool> {
    let allowed = Allowed::read(&repo_root()?, REASONS)?;
    let fixture = static_fixture()?;
    let peer = if trial.keep_peer { kept_peer()? } else { containerd(&fixture)? };
    let program = porthole(trial)?;
    let ours = progress::step("critest on porthole", || {
        let world = World::start("critest-porthole", &fixture, &[&program])?;
        let mut runtime = Runtime::porthole(&world, &program)?;
        judged(&world, &mut runtime)
    })?;
    let specs = rows(&peer, &ours);
    let passed = allowed.passed(&specs);
    let found = Found { critest: version("critest")?, containerd: version("containerd")?, passed, specs };
    conclude(trial, &found, &allowed)
}

fn containerd(fixture: &Path) -> Result<Vec<Spec>> {
    let specs = progress::step("critest on containerd", || {
        let world = World::start("critest-containerd", fixture, &[])?;
        let mut runtime = Runtime::containerd(&world)?;
        judged(&world, &mut runtime)
    })?;
    let outcomes: BTreeMap<_, _> = specs.iter().map(|spec| (&spec.name, spec.outcome)).collect();
    results::store(&directory()?.join(PEER), &serde_json::to_string_pretty(&outcomes)?)?;
    Ok(specs)
}

/// The peer's results of the last run here, else of the committed one.
fn kept_peer() -> Result<Vec<Spec>> {
    let path = directory()?.join(PEER);
    let Ok(text) = fs::read_to_string(&path) else { return Ok(committed()?.peer()) };
    let outcomes: BTreeMap<String, Outcome> =
        serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))?;
    let spec = |(name, outcome)| Spec { name, outcome, said: String::new() };
    Ok(outcomes.into_iter().map(spec).collect())
}

fn judged(world: &World, runtime: &mut Runtime) -> Result<Vec<Spec>> {
    let mut specs = Vec::new();
    for choice in CHOICES {
        let log = directory()?.join(format!("critest-{}-{}.log", runtime.name, choice.name));
        let ended = critest::run(world, runtime, *choice, &log);
        let kept = directory()?.join(format!("{}.log", runtime.name));
        fs::copy(world.dir().join(format!("{}.log", runtime.name)), &kept)
            .context("keep the runtime's log")?;
        let mark = if choice.args.is_empty() { String::new() } else { format!(" ({})", choice.name) };
        specs.extend(ended?.into_iter().map(|spec| Spec { name: spec.name + &mark, ..spec }));
    }
    Ok(specs)
}

/// A row for every name that either has, in order.
pub(super) fn rows(peer: &[Spec], ours: &[Spec]) -> Vec<Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let empty = |name: &str| Row { name: name.to_owned(), peer: None, ours: None, said: String::new() };
    for spec in peer {
        rows.entry(&spec.name).or_insert_with(|| empty(&spec.name)).peer = Some(spec.outcome);
    }
    for spec in ours {
        let row = rows.entry(&spec.name).or_insert_with(|| empty(&spec.name));
        (row.ours, row.said) = (Some(spec.outcome), shortened(&spec.said));
    }
    rows.into_values().collect()
}

/// Identifiers differ from run to run; the page and the proof tell only what stays.
fn shortened(said: &str) -> String {
    said.chars().take(300).collect()
}

fn conclude(trial: &Trial, found: &Found, allowed: &Allowed) -> Result<bool> {
    let complaints = allowed.complaints(&found.specs);
    for complaint in &complaints {
        println!("{complaint}");
    }
    let peers = found.specs.iter().filter(|row| row.peer == Some(Outcome::Passed)).count();
    let pass = complaints.is_empty();
    println!(
        "{} specs: {} pass with porthole (at least {}), {peers} with containerd {}; {}",
        found.specs.len(),
        found.passed,
        allowed.passing,
        found.containerd,
        if pass { "content" } else { "not content" }
    );
    trial.record(pass, PROVES, found)?;
    let page = page::render(found, allowed);
    let path = if trial.proves(pass) { repo_root()?.join(PAGE) } else { directory()?.join("critest.md") };
    results::store(&path, &page)?;
    Ok(pass)
}

fn committed() -> Result<Found> {
    let path = proof_path("critest")?;
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
}

pub(super) fn version(tool: &str) -> Result<String> {
    let tool = GO_TOOLS.iter().find(|known| known.name == tool).with_context(|| format!("no tool {tool}"))?;
    Ok(tool.version.trim_start_matches('v').to_owned())
}

// === impl Found ===

impl Found {
    fn peer(&self) -> Vec<Spec> {
        let spec = |row: &Row| Some(Spec { name: row.name.clone(), outcome: row.peer?, said: String::new() });
        self.specs.iter().filter_map(spec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, outcome: Outcome) -> Spec {
        Spec { name: name.to_owned(), outcome, said: "why".to_owned() }
    }

    #[test]
    fn every_spec_of_either_runtime_has_a_row() {
        let rows = rows(
            &[spec("b", Outcome::Passed), spec("c", Outcome::Failed)],
            &[spec("a", Outcome::Skipped), spec("b", Outcome::Passed)],
        );
        let shown: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.peer, row.ours)).collect();
        let expected = [
            ("a", None, Some(Outcome::Skipped)),
            ("b", Some(Outcome::Passed), Some(Outcome::Passed)),
            ("c", Some(Outcome::Failed), None),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_committed_page_is_what_the_committed_proof_says() {
        let root = repo_root().expect("root");
        let allowed = Allowed::read(&root, REASONS).expect("read");
        let found = committed().expect("a proof");
        let page = fs::read_to_string(root.join(PAGE)).expect("a page");
        assert_eq!(page, page::render(&found, &allowed));
        assert_eq!(allowed.complaints(&found.specs), Vec::<String>::new());
    }
}
