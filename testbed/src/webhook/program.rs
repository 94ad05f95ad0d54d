//! `porthole webhook` itself, as a process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::guard::Guard;
use crate::process::{Daemon, wait_for};

const PATIENCE: Duration = Duration::from_secs(30);
const LISTENING: &str = "listening on https://";

/// A webhook that listens, until it is ended or its guard ends.
#[derive(Debug)]
pub struct Program {
    pub address: SocketAddr,
    daemon: Daemon,
    log: PathBuf,
}

// === impl Program ===

impl Program {
    /// Starts it and waits until it says where it listens. Its log is `NAME.log` in the guard's directory.
    pub fn start(guard: &Guard, name: &str, porthole: &Path, words: &[&str]) -> Result<Self> {
        let log = guard.dir().join(format!("{name}.log"));
        let already = listening(&log).len();
        let mut command = Command::new(porthole);
        command.arg("webhook").args(words);
        let mut daemon = Daemon::spawn(guard, name, &mut command, guard.dir())?;
        let address = wait_for("the webhook's address", PATIENCE, || {
            daemon.check()?;
            Ok(listening(&log).get(already).copied())
        })?;
        Ok(Self { address, daemon, log })
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// Everything it said.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Asks it to end, with `TERM`, or makes it, with `KILL`.
    pub fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        status.context("start kill")?.success().then_some(()).context("kill failed")
    }

    /// Waits until it has ended; its exit code, unless a signal ended it.
    pub fn reap(mut self) -> Option<i32> {
        self.daemon.wait()
    }
}

fn listening(log: &Path) -> Vec<SocketAddr> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    // A line is whole only once it has its end.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.filter_map(|line| line.split_once(LISTENING)?.1.trim().parse().ok()).collect()
}
