//! What a process has of the system, as the kernel counts it.

use std::path::Path;

use serde::Serialize;

/// Memory that is the process's own: pages of programs, which are dropped and read again, say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Use {
    pub(crate) anonymous_kib: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
}

// === impl Use ===

impl Use {
    pub(crate) fn holds_more_than(&self, other: &Use) -> bool {
        self.descriptors > other.descriptors || self.threads > other.threads
    }
}

pub(crate) fn used(pid: u32) -> Use {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    // Our own list is read through one more.
    let listing = u64::from(pid == std::process::id());
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count() as u64;
    Use { anonymous_kib: number("RssAnon:"), descriptors: descriptors - listing, threads: number("Threads:") }
}

/// The processes that run a program below this directory, each with its parent.
pub(crate) fn running(programs: &Path) -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        program.starts_with(programs).then_some((pid, parent(pid)?))
    })
    .collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
