//! `cargo xtask soak`: a container that is probed 20,000 times, and 1,000 pods that come and go; nothing may grow.
//!
//! It is the test of the gate (`tests/twin_soak` of the runtime), with the holder as users have it and an optimised agent,
//! for longer. The outcome is `target/bench/soak.json`, which is committed as `docs/proofs/soak.json`; growth is exit code 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;
use testbed::tools::{cargo, progress, repo_root};

use crate::bench;
use crate::gate::suite;
use crate::results::{self, Stamp};

const EXECS: u32 = 20_000;
const PODS: u32 = 1_000;
/// Three minutes where nothing else runs.
const LIMIT: Duration = Duration::from_secs(15 * 60);
const TEST: &str = "twin_soak";
/// What is soaked: the committed outcome goes stale when these change.
const PATHS: &[&str] =
    &["crates/runtime", "crates/holder", "crates/images", "crates/os", "crates/plan", "crates/rules"];

#[derive(Debug, Serialize)]
struct Outcome {
    name: &'static str,
    pass: bool,
    /// What the test saw, in its own words.
    #[serde(flatten)]
    report: serde_json::Map<String, Value>,
    commit: String,
    /// The tree had changes that the commit does not have.
    dirty: bool,
    paths: &'static [&'static str],
}

/// True when nothing grew.
pub(crate) fn run() -> Result<bool> {
    let dir = repo_root()?.join("target/bench");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let path = dir.join("soak-report.json");
    drop(fs::remove_file(&path));
    let stamp = Stamp::now()?;
    let code = suite::wait("soak", &mut soak(&path)?, LIMIT)?;
    // A test that grew has written what it saw before it failed.
    let report = fs::read_to_string(&path).with_context(|| format!("the soak ended with {code:?}"))?;
    let outcome = outcome(code, &report, stamp)?;
    let text = serde_json::to_string_pretty(&outcome)?;
    results::store(&dir.join("soak.json"), &text)?;
    println!("{text}");
    Ok(outcome.pass)
}

fn soak(report: &Path) -> Result<Command> {
    let mut command = Command::new(test_program()?);
    command.arg("--nocapture").stdin(Stdio::null());
    command.env("PORTHOLE_FIXTURE", suite::static_fixture()?).env("PORTHOLE_HOLD", bench::holder()?);
    command.env("PORTHOLE_SOAK_EXECS", EXECS.to_string()).env("PORTHOLE_SOAK_PODS", PODS.to_string());
    command.env("PORTHOLE_SOAK_REPORT", report);
    Ok(command)
}

fn test_program() -> Result<PathBuf> {
    let mut command = cargo::command("test")?;
    cargo::reporting(&mut command).args(["--release", "--no-run", "--package", "runtime", "--test", TEST]);
    let output = progress::step("build the soak for release", || progress::run(&mut command))?;
    let built = cargo::built(&output.stdout)?.into_iter().find(|built| built.is_test && built.name == TEST);
    built.map(|built| built.path).with_context(|| format!("cargo named no {TEST}"))
}

fn outcome(code: Option<i32>, report: &str, stamp: Stamp) -> Result<Outcome> {
    let mut report: serde_json::Map<String, Value> =
        serde_json::from_str(report).context("read the report")?;
    let flat = report.remove("pass") == Some(Value::Bool(true));
    ensure!(flat || code != Some(0), "the test passed and its report says that it did not");
    let Stamp { commit, dirty } = stamp;
    Ok(Outcome { name: "soak", pass: flat && code == Some(0), report, commit, dirty, paths: PATHS })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(code: Option<i32>, report: &str) -> Result<Outcome> {
        outcome(code, report, Stamp { commit: "c".into(), dirty: true })
    }

    #[test]
    fn only_a_test_that_passed_with_a_report_that_says_so_passes() {
        let flat = r#"{"grown": [], "pass": true}"#;
        assert!(judged(Some(0), flat).expect("reads").pass);
        assert!(!judged(Some(101), flat).expect("reads").pass, "failed after its report");
        assert!(!judged(None, flat).expect("reads").pass, "killed");
        assert!(!judged(Some(101), r#"{"grown": ["agent"], "pass": false}"#).expect("reads").pass);
        assert!(judged(Some(0), "{}").is_err());
        assert!(judged(Some(0), "").is_err());
    }

    #[test]
    fn the_report_is_kept_in_the_outcome() {
        let text = serde_json::to_string(&judged(Some(0), r#"{"execs": 7, "pass": true}"#).expect("reads"));
        assert_eq!(text.expect("writes").matches("\"execs\":7").count(), 1);
    }

    #[test]
    fn a_soak_of_a_tree_that_no_commit_has_says_so() {
        let outcome = judged(Some(0), r#"{"pass": true}"#).expect("reads");
        assert_eq!(serde_json::to_value(outcome).expect("writes")["dirty"], true);
    }
}
