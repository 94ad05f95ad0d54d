//! `cargo xtask mutants`: do the tests of the pure crates and the holder notice when the code is wrong?
//!
//! Takes too long for the gate, so the outcome is committed per package as
//! `docs/proofs/mutants-PACKAGE.json` with its commit and goes stale when that crate changes.
//!
//! A hunt is done in parts, which are kept as long as the crate is the same: one that was interrupted goes on with
//! the part it was at.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use testbed::tools::{progress, repo_root};

use crate::gate::lint::{installed, installed_with};
use crate::gate::suite::{holder, static_fixture};
use crate::results::{self, Stamp};

const CARGO_MUTANTS: &str = "27.1.0";
/// Runs each test in a process of its own, so the first that fails ends a mutant's run, and one that hangs only itself.
const CARGO_NEXTEST: &str = "0.9.151";
const NEXTEST_FEATURES: [&str; 3] = ["--no-default-features", "--features", "default-no-update"];

/// A crate whose tests are tried.
#[derive(Debug)]
struct Package {
    name: &'static str,
    /// What its tests may take before they count as hung. A busy machine must not make a mutant look so: it would count
    /// as caught.
    seconds: u32,
    jobs: u32,
}

/// The tests of the pure ones end in one or two seconds; the holder's wait ten for real processes, so more of them wait
/// side by side.
const PACKAGES: &[Package] = &[
    Package { name: "rules", seconds: 30, jobs: 2 },
    Package { name: "plan", seconds: 20, jobs: 2 },
    Package { name: "holder", seconds: 60, jobs: 4 },
];
/// Tests that would cost seconds for each of hundreds of mutants and see nothing that others do not.
const SLOW: &[&str] = &["a_holder_that_is_stuck"];
/// A program's `main` has no test that sees every line of it.
const EXCLUDED: &[&str] = &["crates/holder/src/main.rs"];
const WANTED_PERCENT: f64 = 85.0;
const PARTS: usize = 6;
/// Stands in the directory of a part that was hunted to its end.
const WHOLE: &str = "whole";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these packages
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(PACKAGES.iter().map(|package| package.name)))]
    packages: Vec<String>,
}

/// What cargo-mutants leaves in `outcomes.json`, as far as it is needed.
#[derive(Debug, Default, Deserialize)]
struct Outcomes {
    caught: usize,
    missed: usize,
    unviable: usize,
    timeout: usize,
    #[serde(skip)]
    survivors: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Proof {
    pass: bool,
    commit: String,
    dirty: bool,
    paths: Vec<String>,
    caught: usize,
    missed: usize,
    unviable: usize,
    timeout: usize,
    percent: f64,
    survivors: Vec<String>,
}

/// True when enough mutants of every package were caught.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let chosen = PACKAGES.iter().filter(|package| {
        options.packages.is_empty() || options.packages.iter().any(|name| name == package.name)
    });
    // Once: the first proof that is written makes the tree differ from its commit.
    let stamp = Stamp::now()?;
    let mut enough = true;
    for package in chosen {
        enough &= run_package(package, &stamp)?;
    }
    Ok(enough)
}

fn run_package(package: &Package, stamp: &Stamp) -> Result<bool> {
    let (root, name) = (repo_root()?, package.name);
    let mut all = Outcomes::default();
    for part in 0..PARTS {
        let out = part_dir(&root, name, part, stamp)?;
        if !out.join(WHOLE).exists() {
            fs::create_dir_all(&out)?;
            hunt(&root, &out, package, part)?;
            fs::write(out.join(WHOLE), "")?;
        }
        all.add(Outcomes::read(&out.join("mutants.out"))?);
    }
    let proof = proof(all, name, stamp);
    fs::create_dir_all(root.join("docs/proofs"))?;
    let path = root.join(format!("docs/proofs/mutants-{name}.json"));
    results::store(&path, &(serde_json::to_string_pretty(&proof)? + "\n"))?;
    println!(
        "{name}: {:.1} % of the viable mutants caught, {} survived; {}",
        proof.percent,
        proof.missed,
        path.display()
    );
    Ok(proof.pass)
}

/// Named after what the crate is now: parts of another crate are never counted in.
fn part_dir(root: &Path, package: &str, part: usize, stamp: &Stamp) -> Result<PathBuf> {
    let object = format!("HEAD:crates/{package}");
    let tree = progress::text_of(Command::new("git").current_dir(root).args(["rev-parse", &object]))?;
    let of = root.join("target/mutants").join(package).join(tree.trim());
    let dir = of.join(format!("{part}-of-{PARTS}"));
    if stamp.dirty && dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("remove {}", dir.display()))?;
    }
    Ok(dir)
}

fn hunt(root: &Path, out: &Path, package: &Package, part: usize) -> Result<()> {
    let program = installed("cargo-mutants", CARGO_MUTANTS)?;
    let mut command = Command::new(program);
    command.args(["mutants", "--no-shuffle", "--package", package.name, "--output"]).arg(out);
    command.args(["--jobs", &package.jobs.to_string()]);
    command.args(["--shard", &format!("{part}/{PARTS}")]);
    command.args(EXCLUDED.iter().flat_map(|file| ["--exclude", file])).current_dir(root).stdin(Stdio::null());
    command.args(["--minimum-test-timeout", &package.seconds.to_string()]);
    command.args(["--test-tool", "nextest", "--", "--config-file"]).arg(root.join("xtask/nextest.toml"));
    command.env("PORTHOLE_FIXTURE", static_fixture()?).env("PORTHOLE_HOLD", holder()?);
    command.arg("--").args(SLOW.iter().flat_map(|name| ["--skip", name]));
    command.env("PATH", with_nextest()?);
    // A property that a mutant breaks shows in the first cases or hardly ever.
    command.env("PROPTEST_CASES", "64").env("RUST_BACKTRACE", "0");
    // Nobody follows a mutant's backtrace, and compiling is most of the hunt.
    command.env("CARGO_PROFILE_DEV_DEBUG", "none");
    // Found by an outer cargo; cargo-mutants would hand it to the copies it builds.
    command.env_remove("CARGO_MANIFEST_DIR");
    // Two copies in one target directory would run each other's programs.
    command.env_remove("CARGO_TARGET_DIR");
    let status = command.status().context("start cargo-mutants")?;
    // 2: some survived, 3: some hung; both are in the outcomes.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants ended with {status}");
    Ok(())
}

/// cargo finds its plugins by this.
fn with_nextest() -> Result<OsString> {
    let nextest = installed_with("cargo-nextest", CARGO_NEXTEST, &NEXTEST_FEATURES)?;
    let known = std::env::var_os("PATH").unwrap_or_default();
    let first = nextest.parent().map(Path::to_path_buf);
    std::env::join_paths(first.into_iter().chain(std::env::split_paths(&known))).context("PATH")
}

// === impl Outcomes ===

impl Outcomes {
    fn read(dir: &Path) -> Result<Outcomes> {
        let read = |name: &str| fs::read_to_string(dir.join(name)).with_context(|| format!("read {name}"));
        let outcomes: Outcomes =
            serde_json::from_str(&read("outcomes.json")?).context("read outcomes.json")?;
        Ok(Outcomes { survivors: read("missed.txt")?.lines().map(str::to_owned).collect(), ..outcomes })
    }

    fn add(&mut self, other: Outcomes) {
        self.caught += other.caught;
        self.missed += other.missed;
        self.unviable += other.unviable;
        self.timeout += other.timeout;
        self.survivors.extend(other.survivors);
    }
}

fn proof(outcomes: Outcomes, package: &str, stamp: &Stamp) -> Proof {
    let Outcomes { caught, missed, unviable, timeout, mut survivors } = outcomes;
    survivors.sort();
    let percent = percent(caught + timeout, missed);
    Proof {
        pass: percent >= WANTED_PERCENT,
        commit: stamp.commit.clone(),
        dirty: stamp.dirty,
        paths: vec![format!("crates/{package}")],
        caught,
        missed,
        unviable,
        timeout,
        percent,
        survivors,
    }
}

/// A mutant that hangs its tests is noticed too.
fn percent(caught: usize, missed: usize) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    match caught + missed {
        0 => 0.0,
        viable => (count(caught) * 1000.0 / count(viable)).round() / 10.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_viable_ones() {
        assert_eq!(percent(17, 3).to_string(), "85");
        assert_eq!(percent(2, 1).to_string(), "66.7");
        assert_eq!(percent(0, 0).to_string(), "0");
    }

    #[test]
    fn a_hunt_that_missed_its_bar_says_so_in_its_proof() {
        let hunted = |caught, timeout, missed| {
            let outcomes = Outcomes { caught, timeout, missed, ..Outcomes::default() };
            let proof = proof(outcomes, "rules", &Stamp { commit: "c".into(), dirty: false });
            serde_json::to_value(proof).expect("written")["pass"].clone()
        };
        assert_eq!(hunted(80, 5, 15), true, "who hangs is caught");
        assert_eq!(hunted(84, 0, 16), false);
        assert_eq!(hunted(0, 0, 0), false, "nothing was hunted");
    }
}
