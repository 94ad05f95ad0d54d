//! The most memory that one side's processes had together.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, anyhow};

/// Between two looks. A look reads some hundred files of ten pulls at once, and takes its time from those it looks at.
const PAUSE: Duration = Duration::from_millis(100);
const PAGE: u64 = 4096;

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
                peak = peak.max(pids.map(resident_of_tree).sum());
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
fn resident_of_tree(pid: u32) -> u64 {
    let below: u64 = children(pid).into_iter().map(resident_of_tree).sum();
    below + resident(pid).unwrap_or(0)
}

fn resident(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let lists: Vec<String> = tasks.flatten().map(of_task).collect();
    lists.iter().flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_child_is_found_and_has_memory() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        assert!(children(std::process::id()).contains(&child.id()));
        assert!(resident_of_tree(child.id()) > 0);
        child.kill().expect("killed");
        child.wait().expect("reaped");
        assert_eq!(resident_of_tree(child.id()), 0);
    }
}
