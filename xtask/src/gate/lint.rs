//! Formatting, lints and licences; each counts as a test.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use testbed::tools::cache::Entry;
use testbed::tools::{cargo, progress, repo_root, windows};

use super::suite::succeeds;
use crate::results::{Record, Stamp};
use crate::tier::Tier;

const CARGO_DENY: &str = "0.20.2";

/// A named check that is a cargo command.
#[derive(Debug)]
struct Check {
    name: &'static str,
    command: fn() -> Result<Command>,
}

const CHECKS: &[Check] = &[
    Check { name: "rustfmt", command: rustfmt },
    Check { name: "rustfmt_fuzz", command: rustfmt_fuzz },
    Check { name: "clippy", command: clippy },
    Check { name: "clippy_windows", command: clippy_windows },
    Check { name: "clippy_windows_tests", command: clippy_windows_tests },
    Check { name: "deny", command: deny },
];

pub(super) fn run(stamp: &Stamp, filter: Option<&str>) -> Vec<Record> {
    let asked = |check: &&Check| filter.is_none_or(|words| check.name.contains(words));
    CHECKS.iter().filter(asked).map(|check| check.run(stamp)).collect()
}

/// `cargo xtask fmt-lint`: the same checks alone.
pub(crate) fn run_alone() -> bool {
    let mut green = true;
    for check in CHECKS {
        green &= check.succeeds();
    }
    green
}

// === impl Check ===

impl Check {
    fn run(&self, stamp: &Stamp) -> Record {
        let begun = Instant::now();
        let green = self.succeeds();
        let record =
            stamp.record(Tier::Lint, "workspace", "lint", self.name).took(begun.elapsed().as_secs_f64());
        if green { record } else { record.failed("see above") }
    }

    fn succeeds(&self) -> bool {
        // The command first: it may install its program, with progress lines of its own.
        let checked =
            (self.command)().and_then(|mut command| progress::step(self.name, || succeeds(&mut command)));
        checked.inspect_err(|error| eprintln!("{}: {error:#}", self.name)).is_ok()
    }
}

fn rustfmt() -> Result<Command> {
    let mut command = cargo::command("fmt")?;
    command.args(["--all", "--check"]);
    Ok(command)
}

/// The fuzz targets are a workspace of their own.
fn rustfmt_fuzz() -> Result<Command> {
    let mut command = cargo::command("fmt")?;
    command.args(["--manifest-path", "fuzz/Cargo.toml", "--check"]);
    Ok(command)
}

fn clippy() -> Result<Command> {
    let mut command = cargo::command("clippy")?;
    command.args(["--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    Ok(command)
}

/// The half of the code that the build for this system does not see.
fn clippy_windows() -> Result<Command> {
    windows_clippy(&["porthole", "holder", "sim"], &[])
}

/// What is tested there as well as here.
fn clippy_windows_tests() -> Result<Command> {
    windows_clippy(&["os", "fixture"], &["--all-targets"])
}

fn windows_clippy(packages: &[&str], flags: &[&str]) -> Result<Command> {
    let mut command = windows::toolchain()?.plain("clippy")?;
    command.arg("--quiet").args(packages.iter().flat_map(|name| ["--package", name])).args(flags);
    command.args(["--", "-D", "warnings"]);
    Ok(command)
}

fn deny() -> Result<Command> {
    let cargo_deny = installed("cargo-deny", CARGO_DENY)?;
    let mut command = Command::new(cargo_deny);
    command.current_dir(repo_root()?).args(["--log-level", "error", "check", "bans", "licenses", "sources"]);
    Ok(command)
}

/// A cargo plugin of a pinned version, compiled into the cache on first use.
pub(crate) fn installed(name: &str, version: &str) -> Result<PathBuf> {
    installed_with(name, version, &[])
}

/// The same, with features of its own.
pub(crate) fn installed_with(name: &str, version: &str, features: &[&str]) -> Result<PathBuf> {
    let entry = Entry::new(format!("cargo/{name}-{version}"), format!("install {name} {version}"));
    let dir = entry.provide(|dir| {
        let mut install = cargo::command("install")?;
        install.args(["--locked", "--version", version, "--root"]).arg(dir).arg("--target-dir");
        install.arg(dir.join("build")).args(features).arg(name);
        progress::run(&mut install)?;
        Ok(std::fs::remove_dir_all(dir.join("build"))?)
    })?;
    Ok(dir.join("bin").join(name))
}
