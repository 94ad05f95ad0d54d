//! `cargo xtask e2e NAME`: programs of other projects judge ours (critest, a stock kubelet), each in a world of its own.
//!
//! A suite that is content writes `docs/proofs/e2e-NAME.json`; one that is not leaves what it found in `target/e2e`
//! and ends with exit code 1.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use testbed::tools::{cargo, progress, repo_root};

use crate::results::{self, Stamp};

mod checks;
mod critest;
mod critest_wine;
mod kubelet;
mod kubelet_wine;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Which one; `list` names them
    #[arg(default_value = "list")]
    name: String,
    /// Take the results of the peer from the last run, which saves half of the time
    #[arg(long)]
    keep_peer: bool,
    /// Judge this porthole instead of one that is built now; nothing is proved then
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// One run of a suite: what it is to judge, and the tree that its proof will be about.
#[derive(Debug)]
struct Trial<'a> {
    name: &'static str,
    keep_peer: bool,
    program: Option<&'a Path>,
    stamp: &'a Stamp,
}

/// One slow suite; its verdict is committed as `docs/proofs/e2e-NAME.json`.
#[derive(Debug)]
struct Suite {
    name: &'static str,
    what: &'static str,
    run: fn(&Trial) -> Result<bool>,
}

const SUITES: &[Suite] = &[
    Suite {
        name: "critest",
        what: "the validation suite of CRI on porthole's twin, beside containerd",
        run: critest::run,
    },
    Suite {
        name: "critest-wine",
        what: "the same suite and crictl for Windows, on porthole.exe under Wine over its named pipe",
        run: critest_wine::run,
    },
    Suite {
        name: "kubelet",
        what: "a stock kubelet on porthole's twin: static pods, and as a node of a real cluster",
        run: kubelet::run,
    },
    Suite {
        name: "kubelet-wine",
        what: "a stock kubelet.exe on porthole.exe, both under Wine, as a node of a real cluster",
        run: kubelet_wine::run,
    },
];

/// The paths that all suites are about.
const PATHS: &[&str] = &[
    "crates/cri",
    "crates/streaming",
    "crates/runtime",
    "crates/holder",
    "crates/images",
    "crates/os",
    "crates/plan",
    "crates/rules",
    "crates/porthole/src/cri.rs",
];

/// What a committed proof has beside its suite's own findings.
#[derive(Debug, Serialize)]
struct Proof<'a, T: Serialize> {
    name: &'a str,
    pass: bool,
    commit: &'a str,
    /// The tree had changes that the commit does not have.
    dirty: bool,
    paths: &'static [&'static str],
    proves: &'a [Claim],
    #[serde(flatten)]
    found: &'a T,
}

/// A requirement that a suite shows, at a level.
#[derive(Debug, Clone, Copy, Serialize)]
struct Claim {
    id: &'static str,
    level: &'static str,
}

pub(crate) fn run(options: &Options) -> Result<bool> {
    if options.name == "list" {
        for Suite { name, what, .. } in SUITES {
            println!("{name:<14} {what}");
        }
        return Ok(true);
    }
    let suite = SUITES.iter().find(|suite| suite.name == options.name);
    let suite = suite.with_context(|| format!("no suite {}; see cargo xtask e2e list", options.name))?;
    let stamp = Stamp::now()?;
    let (keep_peer, program) = (options.keep_peer, options.program.as_deref());
    (suite.run)(&Trial { name: suite.name, keep_peer, program, stamp: &stamp })
}

/// Every suite, also after one that is not content or could not run; none for one that is content, else why not.
/// The stamp is the caller's: the first proof that is written makes the tree differ from its commit.
pub(crate) fn run_all(stamp: &Stamp) -> Vec<(&'static str, Option<String>)> {
    run_each(SUITES, stamp)
}

fn run_each(suites: &[Suite], stamp: &Stamp) -> Vec<(&'static str, Option<String>)> {
    let run = |suite: &Suite| {
        println!("=== {} ===", suite.name);
        let trial = Trial { name: suite.name, keep_peer: false, program: None, stamp };
        (suite.name, why_not((suite.run)(&trial)))
    };
    suites.iter().map(run).collect()
}

fn why_not(end: Result<bool>) -> Option<String> {
    match end {
        Ok(true) => None,
        Ok(false) => Some("it is not content; target/e2e has what it found".into()),
        Err(error) => Some(format!("{error:#}")),
    }
}

// === impl Trial ===

impl Trial<'_> {
    /// Whether a content suite is a proof: another program than this tree's says nothing of it.
    fn proves(&self, pass: bool) -> bool {
        pass && self.program.is_none()
    }

    /// Writes what a suite found: to `docs/proofs` if it is content, and to `target/e2e` in any case.
    fn record<T: Serialize>(&self, pass: bool, proves: &[Claim], found: &T) -> Result<()> {
        let text = self.proof(pass, proves, found)?;
        results::store(&directory()?.join(format!("{}.json", self.name)), &text)?;
        if self.proves(pass) {
            results::store(&proof_path(self.name)?, &text)?;
        }
        Ok(())
    }

    fn proof<T: Serialize>(&self, pass: bool, proves: &[Claim], found: &T) -> Result<String> {
        let Stamp { commit, dirty } = self.stamp;
        let proof = Proof { name: self.name, pass, commit, dirty: *dirty, paths: PATHS, proves, found };
        Ok(serde_json::to_string_pretty(&proof)? + "\n")
    }
}

fn proof_path(name: &str) -> Result<PathBuf> {
    Ok(repo_root()?.join(format!("docs/proofs/e2e-{name}.json")))
}

/// Where logs and findings are kept.
fn directory() -> Result<PathBuf> {
    let dir = repo_root()?.join("target/e2e");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

/// Our program, as a plain build makes it, unless another is to be judged.
fn porthole(trial: &Trial) -> Result<PathBuf> {
    if let Some(program) = trial.program {
        return program.canonicalize().with_context(|| format!("find {}", program.display()));
    }
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(["--package", "porthole", "--bin", "porthole"]);
    let output = progress::step("build porthole", || progress::run(&mut command))?;
    let built = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == "porthole");
    built.map(|built| built.path).context("cargo named no porthole")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Content with a proof that is about a tree which was clean at a commit called `begun`.
    fn is_of_the_beginning(trial: &Trial) -> Result<bool> {
        let proof: Value = serde_json::from_str(&trial.proof(true, &[], &json!({}))?)?;
        Ok(proof["commit"] == "begun" && proof["dirty"] == false)
    }

    #[test]
    fn the_proofs_of_one_run_are_all_about_the_tree_that_it_began_with() {
        let suites = ["one", "two"].map(|name| Suite { name, what: "", run: is_of_the_beginning });
        let stamp = |commit: &str, dirty| Stamp { commit: commit.into(), dirty };
        assert_eq!(run_each(&suites, &stamp("begun", false)), [("one", None), ("two", None)]);
        let later = run_each(&suites, &stamp("begun", true));
        assert!(later.iter().all(|(_, why)| why.is_some()), "{later:?}");
    }

    #[test]
    fn only_a_content_suite_has_no_reason() {
        assert_eq!(why_not(Ok(true)), None);
        assert!(why_not(Ok(false)).is_some_and(|why| why.contains("not content")));
        assert_eq!(
            why_not(Err(anyhow::anyhow!("no kubelet").context("build"))),
            Some("build: no kubelet".into())
        );
    }
}
