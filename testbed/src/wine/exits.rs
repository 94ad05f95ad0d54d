//! How Windows processes ended, told by a bystander: a program of Wine's own that opens them by their numbers.
//!
//! Unix knows that a Windows process is gone, but only eight bits of its exit code and none of a killed one's.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::{Running, Wine, WineBuilder};

const LIBRARY: &str = "exits.dll";
const WAIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Watches processes until they have ended.
#[derive(Debug)]
pub struct Exits<'w> {
    wine: &'w Wine,
    file: String,
    count: usize,
    bystander: Running,
}

// === impl WineBuilder ===

impl WineBuilder {
    /// Installs what [`Wine::watch_exits`] needs; builds it on first use.
    pub fn with_bystander(self) -> Result<Self> {
        self.simulated_as(&[LIBRARY])
    }
}

// === impl Wine ===

impl Wine {
    /// Opens these processes, by Windows' own numbers; when this returns they may end.
    pub fn watch_exits(&self, pids: &[u32]) -> Result<Exits<'_>> {
        let names: Vec<_> = pids.iter().map(u32::to_string).collect();
        let file = format!(r"C:\exits-{}", names.join("-"));
        let command = self.command("rundll32").arg(format!("{LIBRARY},WatchExits")).arg(&file).args(names);
        let mut exits = Exits { wine: self, file, count: pids.len(), bystander: command.spawn()? };
        exits.lines(1)?;
        Ok(exits)
    }
}

// === impl Exits ===

impl Exits<'_> {
    /// Waits until all have ended: the number of each and its exit code.
    pub fn codes(mut self) -> Result<Vec<(u32, u32)>> {
        let lines = self.lines(1 + self.count)?;
        let pair = |line: &String| {
            let (pid, code) = line.split_once(' ')?;
            Some((pid.parse().ok()?, code.parse().ok()?))
        };
        lines[1..].iter().map(|line| pair(line).with_context(|| format!("a line {line:?}"))).collect()
    }

    fn lines(&mut self, count: usize) -> Result<Vec<String>> {
        let path = self.wine.host_path(&self.file)?;
        let deadline = Instant::now() + WAIT;
        loop {
            // Asked before reading: what it wrote before it ended is there then.
            let ended = self.bystander.try_wait()?;
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<_> =
                text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).collect();
            if lines.len() >= count {
                return Ok(lines.into_iter().map(str::to_owned).collect());
            }
            ensure!(ended.is_none(), "the bystander ended with {ended:?} and had written {text:?}");
            ensure!(Instant::now() < deadline, "after {WAIT:?} the bystander had written {text:?}");
            std::thread::sleep(POLL);
        }
    }
}
