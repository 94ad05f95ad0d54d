//! A tier's test programs: built with those of all other tiers, run in lanes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use testbed::tools::cargo::{self, Built};
use testbed::tools::progress;

use super::Gate;
use super::leftovers;
use super::order::order;
use super::program::{self, Ended};
use super::programs::build;
use super::running::Running;
use crate::lanes::in_lanes;
use crate::results::{self, Record};
use crate::tier::Tier;

const LINUX: &str = "x86_64-unknown-linux-gnu";
const DOC: &str = "doc";
/// Where a test writes what it skips; the path is one program's alone.
const SKIPS: &str = "PORTHOLE_SKIPS";
/// How often a running program is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// The program that tests run inside containers: static, because a container may hold nothing else.
pub(crate) fn static_fixture() -> Result<PathBuf> {
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(["--package", "fixture", "--target", LINUX]);
    command.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "-C target-feature=+crt-static");
    let output = progress::step("build the static fixture", || progress::run(&mut command))?;
    let fixture = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == "fixture");
    Ok(fixture.context("cargo named no fixture")?.path)
}

/// The program that holds pods, for tests that drive the runtime without porthole.
pub(crate) fn holder() -> Result<PathBuf> {
    let mut command = cargo::command("build")?;
    cargo::reporting(&mut command).args(["--package", "holder", "--bin", "porthole-hold"]);
    let output = progress::step("build the holder", || progress::run(&mut command))?;
    let holder = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == "porthole-hold");
    Ok(holder.context("cargo named no holder")?.path)
}

// === impl Gate ===

impl Gate {
    /// Builds and runs a tier's test programs; one that does not compile is one failure.
    pub(super) fn suite(&self, tier: Tier, env: &[(&str, PathBuf)]) -> Result<Vec<Record>> {
        if !self.has_programs(tier) {
            println!("no tests in tier {}", tier.name());
            return Ok(Vec::new());
        }
        self.run_programs(tier, &self.programs_of(tier)?, env)
    }

    fn run_programs(&self, tier: Tier, built: &[Built], env: &[(&str, PathBuf)]) -> Result<Vec<Record>> {
        let about = |built| {
            let (package, name) = self.name_of(built);
            (package, name, results::seconds(&self.last, tier, package, name))
        };
        let order = order(&built.iter().map(about).collect::<Vec<_>>());
        let run = |at: &usize| self.run_program(tier, &built[*at], env);
        let mut records = in_lanes(self.lanes(tier), &order.beside, run);
        records.extend(in_lanes(1, &order.alone, run));
        records.into_iter().collect::<Result<Vec<_>>>().map(|records| records.concat())
    }

    fn name_of<'a>(&'a self, built: &'a Built) -> (&'a str, &'a str) {
        (self.workspace.package_of(&built.manifest), &built.name)
    }

    fn run_program(&self, tier: Tier, built: &Built, env: &[(&str, PathBuf)]) -> Result<Vec<Record>> {
        let (package, name) = self.name_of(built);
        let dir = built.manifest.parent().context("a manifest has a directory")?;
        let mut command = Command::new(&built.path);
        command.args(self.libtest_args(tier)).current_dir(dir).env("CARGO_MANIFEST_DIR", dir);
        command.envs(env.iter().map(|(name, value)| (name, value)));
        // By the file's name, which has a hash: a package's library and program may share theirs and run at once.
        let file = built.path.file_name().unwrap_or_default().to_string_lossy();
        let run = self.execute(tier, &format!("{package}-{file}"), &mut command)?;
        Ok(program::judge(&self.stamp, tier, package, name, &run))
    }

    /// The fuzz targets on their corpus and on what once crashed them, without the fuzzer.
    pub(super) fn fuzz_replay(&self) -> Result<Vec<Record>> {
        let mut command = cargo::command("test")?;
        cargo::reporting(&mut command).args(["--lib", "--no-run", "--manifest-path", "fuzz/Cargo.toml"]);
        command.arg("--target-dir").arg(&self.workspace.target_directory);
        self.run_programs(Tier::Unit, &build("the replay of fuzz inputs", &mut command)?, &[])
    }

    /// Doc tests are compiled and run by rustdoc; only cargo knows how to call it.
    pub(super) fn doc_tests(&self) -> Result<Vec<Record>> {
        let mut command = cargo::command("test")?;
        command.args(["--workspace", "--doc", "--no-fail-fast", "--"]).args(&self.filter);
        let run = self.execute(Tier::Unit, DOC, &mut command)?;
        Ok(program::judge(&self.stamp, Tier::Unit, "workspace", DOC, &run))
    }

    pub(super) fn libtest_args(&self, tier: Tier) -> Vec<String> {
        let mut args = Vec::from_iter(self.filter.clone());
        args.extend(tier.needs().threads.map(|threads| format!("--test-threads={threads}")));
        args
    }

    fn execute(&self, tier: Tier, label: &str, command: &mut Command) -> Result<Ended> {
        let dir = results::directory()?.join("logs").join(tier.name());
        fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
        let path = |extension| dir.join(format!("{label}.{extension}"));
        let skips = path("skips");
        let _ = fs::remove_file(&skips);
        command.stdin(Stdio::null());
        // Doc tests have no names of their own to skip under.
        if label != DOC {
            command.env(SKIPS, &skips);
        }
        command.stdout(File::create(path("out"))?).stderr(File::create(path("err"))?);
        let begun = Instant::now();
        // Kept until nothing is left of the program.
        let mut running = Running::start(command, SKIPS, &skips)?;
        let code = end_of(label, &mut running.child, tier.needs().limit)?;
        let seconds = begun.elapsed().as_secs_f64();
        let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        // Wine's server stays for a while, whatever was started under it.
        let patience = leftovers::PATIENCE;
        let left = if tier == Tier::Wine { Vec::new() } else { leftovers::end(SKIPS, &skips, patience) };
        drop(running);
        let skips = read(skips).unwrap_or_default();
        Ok(Ended { code, seconds, stdout: read(path("out"))?, stderr: read(path("err"))?, skips, left })
    }
}

/// The exit code, or none for a program that was killed by a signal or by us at its limit.
pub(crate) fn wait(label: &str, command: &mut Command, limit: Duration) -> Result<Option<i32>> {
    let mut child = command.spawn().with_context(|| format!("start {:?}", command.get_program()))?;
    end_of(label, &mut child, limit)
}

fn end_of(label: &str, child: &mut Child, limit: Duration) -> Result<Option<i32>> {
    let begun = Instant::now();
    let mut told = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        let elapsed = begun.elapsed();
        if elapsed > limit {
            child.kill()?;
            child.wait()?;
            eprintln!("  {label}: killed after {} s", elapsed.as_secs());
            return Ok(None);
        }
        if elapsed.saturating_sub(told) > Duration::from_secs(30) {
            told = elapsed;
            eprintln!("  {label}: {} s …", elapsed.as_secs());
        }
        std::thread::sleep(GLANCE);
    }
}

/// A check that is a command, not a test program: cargo's own or the fuzzers'.
pub(super) fn succeeds(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_killed_at_its_limit() {
        let code = wait("sleep", Command::new("sleep").arg("60"), Duration::from_millis(50)).expect("ran");
        assert_eq!(code, None);
    }

    #[test]
    fn an_exit_code_is_kept() {
        let code =
            wait("sh", Command::new("sh").args(["-c", "exit 7"]), Duration::from_secs(60)).expect("ran");
        assert_eq!(code, Some(7));
    }
}
