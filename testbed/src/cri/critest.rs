//! critest, the suite by which runtimes are validated, run in a world on one runtime.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::ginkgo::{self, Spec};
use super::{Runtime, World};
use crate::process::{tail, wait_for};
use crate::tools::go_tool;

/// Which specs, and over which streams.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// What the run is called, in file names.
    pub name: &'static str,
    pub args: &'static [&'static str],
    pub limit: Duration,
}

/// Runs the chosen specs and gives each one's result. What critest says goes to `log`.
pub fn run(world: &World, runtime: &mut Runtime, choice: Choice, log: &Path) -> Result<Vec<Spec>> {
    let program = go_tool("critest")?;
    let report = format!("critest-{}.json", choice.name);
    let inside = world.write(&report, "")?;
    let file = File::create(log).with_context(|| format!("create {}", log.display()))?;
    let mut command = world.command(program);
    command.args(["--runtime-endpoint", &runtime.endpoint, "--image-endpoint", &runtime.endpoint]);
    command.args([
        "--runtime-handler",
        runtime.handler,
        "--ginkgo.no-color",
        "--ginkgo.json-report",
        &inside,
    ]);
    // One order for all: HostProcess containers see what those of an earlier spec did to the host.
    command.arg("--ginkgo.seed=1");
    // Ginkgo's own limit writes a report; ours, a little later, ends what hangs beyond that.
    command.arg(format!("--ginkgo.timeout={}s", choice.limit.as_secs())).args(choice.args);
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).env("TMPDIR", "/tmp");
    let mut child = command.spawn().context("start critest")?;
    let ended = wait_for("critest's end", choice.limit + Duration::from_secs(120), || {
        runtime.check()?;
        Ok(child.try_wait()?)
    });
    if ended.is_err() {
        child.kill().and_then(|()| child.wait().map(drop)).context("end critest")?;
    }
    ended.with_context(|| format!("critest's log ends:\n{}", tail(log)))?;
    let text = fs::read_to_string(world.machine.var_lib().join(&report)).context("read critest's report")?;
    if text.is_empty() {
        bail!("critest wrote no report; its log ends:\n{}", tail(log));
    }
    ginkgo::read(&text).with_context(|| format!("critest's log ends:\n{}", tail(log)))
}
