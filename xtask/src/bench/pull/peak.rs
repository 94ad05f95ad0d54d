//! The most memory that one side's processes had together.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, anyhow};
use testbed::process::children;

/// Between two looks. A look reads some hundred files of ten pulls at once, and takes its time from those it looks at.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks at all that this program has started, directly or not, except at what runs for every side.
#[derive(Debug)]
pub(super) struct Peak {
    stop: Arc<AtomicBool>,
    watch: JoinHandle<u64>,
}

// === impl Peak ===

impl Peak {
    pub(super) fn watch(except: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let watch = thread::spawn(move || {
            let mut peak = 0;
            while !stopped.load(Ordering::Relaxed) {
                let pids = children(std::process::id()).into_iter().filter(|pid| *pid != except);
                peak = peak.max(pids.map(most_of_tree).sum());
                thread::sleep(PAUSE);
            }
            peak
        });
        Self { stop, watch }
    }

    /// In MiB.
    pub(super) fn end(self) -> Result<f64> {
        self.stop.store(true, Ordering::Relaxed);
        let bytes = self.watch.join().map_err(|_| anyhow!("the watch of the memory panicked"))?;
        Ok(f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX)) / 1024.0)
    }
}

/// A process that has ended meanwhile has no memory.
fn most_of_tree(pid: u32) -> u64 {
    let below: u64 = children(pid).into_iter().map(most_of_tree).sum();
    below + most_of(pid).unwrap_or(0)
}

/// The most it had so far: who lives for three looks must not come off better than who lives for thirty.
fn most_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_found_and_has_memory() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        assert!(children(std::process::id()).contains(&child.id()));
        assert!(most_of_tree(child.id()) > 0);
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert_eq!(most_of_tree(child.id()), 0);
    }
}
