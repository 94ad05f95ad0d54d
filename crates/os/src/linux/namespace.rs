//! A job without root: pid namespaces, each ended by killing its first process, counted through /proc.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use super::process::Process;
use crate::job::JobStats;

/// The first processes of a job's namespaces: one for the container, one for each exec'd process.
#[derive(Debug, Default)]
pub(crate) struct Inits(Mutex<Members>);

#[derive(Debug, Default)]
struct Members {
    inits: Vec<Init>,
    peak: u64,
}

#[derive(Debug)]
struct Init {
    pidfd: OwnedFd,
    namespace: Option<PathBuf>,
}

impl Inits {
    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that has ended is nobody to wait for or to kill, and its namespace is gone: a container that is asked for its
    /// health every few seconds must not keep a descriptor of each answer.
    pub(crate) fn add(&self, process: &Process) -> io::Result<()> {
        let init = Init { pidfd: process.pidfd()?, namespace: namespace_of(process.id()) };
        let mut members = self.members();
        members.inits.retain(|init| !ended_by(&init.pidfd, Instant::now()).unwrap_or(false));
        members.inits.push(init);
        Ok(())
    }

    /// The kernel kills every process of a namespace with its first one.
    pub(crate) fn kill(&self) -> io::Result<()> {
        for init in &self.members().inits {
            match pidfd_send_signal(&init.pidfd, Signal::KILL) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A first process counts as ended only when its whole namespace is gone.
    pub(crate) fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + timeout;
        let inits: io::Result<Vec<OwnedFd>> =
            self.members().inits.iter().map(|init| init.pidfd.try_clone()).collect();
        for pidfd in inits? {
            if !ended_by(&pidfd, deadline)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        let members = self.members();
        let ours: Vec<&PathBuf> = members.inits.iter().filter_map(|init| init.namespace.as_ref()).collect();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if namespace_of(pid).is_some_and(|namespace| ours.contains(&&namespace)) {
                found.push(pid);
            }
        }
        Ok(found)
    }

    /// What the living have used, with what they reaped. A process that ends while we read counts as nothing.
    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        let mut stats = JobStats::default();
        for pid in self.processes()? {
            let Some(usage) = usage_of(pid) else { continue };
            stats.cpu_user_ns += usage.user_ns;
            stats.cpu_kernel_ns += usage.kernel_ns;
            stats.memory_bytes += usage.resident_bytes;
            stats.processes += 1;
        }
        let mut members = self.members();
        members.peak = members.peak.max(stats.memory_bytes);
        stats.memory_peak_bytes = members.peak;
        stats.working_set_bytes = stats.memory_bytes;
        Ok(stats)
    }
}

fn namespace_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn ended_by(pidfd: &OwnedFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(ready) => return Ok(ready > 0),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Usage {
    user_ns: u64,
    kernel_ns: u64,
    resident_bytes: u64,
}

fn usage_of(pid: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    parse_usage(&stat, 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1), page)
}

/// The name in parentheses may hold anything, so fields count from the last parenthesis.
fn parse_usage(stat: &str, tick_ns: u64, page: u64) -> Option<Usage> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    Some(Usage {
        user_ns: (number(11)? + number(13)?) * tick_ns,
        kernel_ns: (number(12)? + number(14)?) * tick_ns,
        resident_bytes: number(21)? * page,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 5 6 2 1 20 0 1 0 50 8192 3 18446744073709551615";
        let expected = Usage { user_ns: 70, kernel_ns: 70, resident_bytes: 3 * 4096 };
        assert_eq!(parse_usage(stat, 10, 4096), Some(expected));
    }
}
