//! The client inside the machine: one line asks, one line answers.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use testbed::cri::stand_ins::BUSYBOX;
use testbed::cri::{Runtime, World};

/// `crates/cri/examples/drive` at a runtime's socket. Dropped, it is ended.
#[derive(Debug)]
pub(super) struct Driver {
    child: Child,
    asks: ChildStdin,
    says: BufReader<ChildStdout>,
}

/// What it says, as far as the question has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    /// How long each took.
    pub(super) ms: Vec<f64>,
    /// How long all took.
    pub(super) seconds: f64,
}

// === impl Driver ===

impl Driver {
    pub(super) fn start(world: &World, runtime: &Runtime, program: &Path) -> Result<Self> {
        let socket = runtime.endpoint.strip_prefix("unix://").context("a runtime has a socket")?;
        let mut command = world.command(program);
        command.args([socket, runtime.handler, BUSYBOX]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("start the client")?;
        let asks = child.stdin.take().context("the client has a stdin")?;
        let says = BufReader::new(child.stdout.take().context("the client has a stdout")?);
        Ok(Self { child, asks, says })
    }

    /// What went wrong is on stderr already.
    pub(super) fn ask(&mut self, line: &str) -> Result<Said> {
        writeln!(self.asks, "{line}").with_context(|| format!("ask the client for {line:?}"))?;
        let mut answer = String::new();
        self.says.read_line(&mut answer).with_context(|| format!("hear of {line:?}"))?;
        if answer.is_empty() {
            bail!("the client could not {line:?}");
        }
        serde_json::from_str(&answer).with_context(|| format!("the client said {answer:?}"))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
