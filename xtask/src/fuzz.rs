//! `cargo xtask fuzz`: libFuzzer on stable Rust.
//!
//! The coverage instrumentation is LLVM's own and reachable through stable code generation flags, so neither a nightly
//! compiler nor cargo-fuzz is needed. The committed corpus only seeds a run; what a run finds stays under `target/`
//! until `--minimise` folds it in. An input that crashes a target is kept in `fuzz/regressions/`, which a test replays.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use testbed::tools::{cargo, progress, repo_root};

use crate::lanes::in_lanes;
use crate::results::{Record, Stamp};
use crate::tier::Tier;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// How long each target runs in the gate.
const GATE_SECONDS: u32 = 20;
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cdebug-assertions -Ccodegen-units=1";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// One target; all of them with none
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value_t = GATE_SECONDS)]
    seconds: u32,
    /// Afterwards replace the committed corpus by the smallest set with the same coverage
    #[arg(long)]
    minimise: bool,
}

/// True when no target crashed.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let targets = chosen(targets()?, options.target.as_deref())?;
    let fuzzer = build()?;
    let mut green = true;
    for target in &targets {
        green &= told(target, fuzzer.hunt(target, options.seconds));
        if options.minimise && green {
            fuzzer.minimise(target)?;
        }
    }
    Ok(green)
}

/// Each target as one test of the gate; it keeps one core busy.
pub(crate) fn gate(stamp: &Stamp, lanes: usize, filter: Option<&str>) -> Result<Vec<Record>> {
    let targets = named(targets()?, filter);
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let fuzzer = build()?;
    let one = |target: &String| {
        let begun = Instant::now();
        let green = told(target, fuzzer.hunt(target, GATE_SECONDS));
        let record = stamp.record(Tier::Fuzz, "fuzz", "fuzz", target).took(begun.elapsed().as_secs_f64());
        if green { record } else { record.failed("the fuzzer found a crash, see above") }
    };
    Ok(in_lanes(lanes, &targets, one))
}

fn told(target: &str, hunted: Result<String>) -> bool {
    match &hunted {
        Ok(summary) => println!("fuzz {target}: {summary}"),
        Err(error) => eprintln!("fuzz {target}: {error:#}"),
    }
    hunted.is_ok()
}

/// A target is a directory of the committed corpus; a test in the fuzz crate holds that against its table.
fn targets() -> Result<Vec<String>> {
    let dir = repo_root()?.join("fuzz/corpus");
    let entries = fs::read_dir(&dir).with_context(|| format!("read {}", dir.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Those whose name contains the filter.
fn named(all: Vec<String>, filter: Option<&str>) -> Vec<String> {
    all.into_iter().filter(|name| filter.is_none_or(|words| name.contains(words))).collect()
}

fn chosen(all: Vec<String>, asked: Option<&str>) -> Result<Vec<String>> {
    let Some(asked) = asked else { return Ok(all) };
    ensure!(all.iter().any(|name| name == asked), "no fuzz target {asked}, only {}", all.join(", "));
    Ok(vec![asked.to_owned()])
}

#[derive(Debug)]
pub(crate) struct Fuzzer {
    program: PathBuf,
    root: PathBuf,
}

pub(crate) fn build() -> Result<Fuzzer> {
    let root = repo_root()?;
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(["--release", "--features", "libfuzzer", "--target", TRIPLE]);
    command.arg("--manifest-path").arg(root.join("fuzz/Cargo.toml"));
    command.arg("--target-dir").arg(target_dir(&root)).env("RUSTFLAGS", FLAGS);
    // Set by an outer cargo, it would win over RUSTFLAGS and the fuzzer would be blind.
    command.env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = progress::step("build the fuzzer", || progress::run(&mut command))?;
    let built = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == "fuzz");
    Ok(Fuzzer { program: built.context("cargo named no fuzzer")?.path, root })
}

fn target_dir(root: &Path) -> PathBuf {
    let outer = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    outer.join("fuzz")
}

// === impl Fuzzer ===

impl Fuzzer {
    /// Runs one target for a while and says what it did.
    fn hunt(&self, target: &str, seconds: u32) -> Result<String> {
        let [found, seeds, crashes] = self.directories(target)?;
        let before = count(&crashes)?;
        let mut command = self.command(target);
        command
            .args([format!("-max_total_time={seconds}"), format!("-artifact_prefix={}/", crashes.display())]);
        command.args(["-print_final_stats=1", "-timeout=10", "-rss_limit_mb=2048"]).args([&found, &seeds]);
        let output = command.output().with_context(|| format!("start {}", self.program.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() || count(&crashes)? != before {
            bail!("{}\nthe input is in {}: commit it with the fix", ending(&said), crashes.display());
        }
        // Too few counters means that the flags did not reach the compiler.
        let counters = number_before(&said, " inline 8-bit");
        ensure!(counters.is_some_and(|n| n > 1000), "the fuzzer is not instrumented: {counters:?} counters");
        let runs =
            number_after(&said, "stat::number_of_executed_units:").context("libFuzzer said no statistics")?;
        ensure!(runs > 0, "nothing was executed");
        fs::remove_dir(&crashes).ok();
        Ok(format!("{runs} inputs in {seconds} s, no crash"))
    }

    fn minimise(&self, target: &str) -> Result<()> {
        let [found, seeds, _] = self.directories(target)?;
        let small = found.with_extension("small");
        let _ = fs::remove_dir_all(&small);
        fs::create_dir_all(&small)?;
        // By edges alone: how often each was taken would keep ten times as many.
        progress::run(
            self.command(target)
                .args(["-set_cover_merge=1", "-use_counters=0"])
                .args([&small, &seeds, &found]),
        )?;
        fs::remove_dir_all(&seeds)?;
        progress::run(Command::new("cp").arg("-r").args([&small, &seeds]))?;
        println!("fuzz {target}: {} inputs in the corpus", count(&seeds)?);
        Ok(())
    }

    fn command(&self, target: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.env("FUZZ_TARGET", target).stdin(Stdio::null()).current_dir(&self.root);
        command
    }

    /// What runs find, what is committed, where crashes go.
    fn directories(&self, target: &str) -> Result<[PathBuf; 3]> {
        let found = target_dir(&self.root).join("found").join(target);
        let dirs = [
            found,
            self.root.join("fuzz/corpus").join(target),
            self.root.join("fuzz/regressions").join(target),
        ];
        for dir in &dirs {
            fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        }
        Ok(dirs)
    }
}

fn count(dir: &Path) -> Result<usize> {
    Ok(fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))?.count())
}

fn ending(said: &str) -> String {
    let lines: Vec<_> = said.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

fn number_after(text: &str, mark: &str) -> Option<u64> {
    let (_, after) = text.split_once(mark)?;
    after.split_whitespace().next()?.parse().ok()
}

fn number_before(text: &str, mark: &str) -> Option<u64> {
    let (before, _) = text.split_once(mark)?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_what_libfuzzer_says() {
        let said = "INFO: Loaded 1 modules   (4321 inline 8-bit counters): 4321 [0x1, 0x2),\n\
                    stat::number_of_executed_units: 99\n";
        assert_eq!(number_after(said, "stat::number_of_executed_units:"), Some(99));
        assert_eq!(number_before(said, " inline 8-bit"), Some(4321));
        assert_eq!(number_before(said, " no such"), None);
    }

    #[test]
    fn a_filter_chooses_targets_as_it_chooses_tests() {
        let all = vec!["holder_frame".to_owned(), "holder_stream".to_owned()];
        assert_eq!(named(all.clone(), Some("frame")), ["holder_frame"]);
        assert_eq!(named(all.clone(), None), all);
        assert_eq!(named(all, Some("generations")), [""; 0]);
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let all = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(chosen(all.clone(), Some("b")).expect("there"), ["b"]);
        let error = chosen(all, Some("c")).expect_err("not there").to_string();
        assert_eq!(error, "no fuzz target c, only a, b");
    }
}
