//! A job as one directory per controller of cgroup v1.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup::{V1Mounts, keyed, read, read_number, shares, write};
use super::nested;
use crate::job::{JobLimits, JobStats};

/// The scheduler's accounting period; quotas are given per period.
const PERIOD_US: u64 = 100_000;
/// The kernel refuses quotas below a millisecond.
const QUOTA_MIN_US: u64 = 1_000;
/// The kernel's "no limit" is the largest number that is a multiple of a page, whatever a page is.
const UNLIMITED: u64 = 1 << 62;

/// The directories of one job.
#[derive(Clone, Debug)]
pub(crate) struct Dirs(V1Mounts);

impl Dirs {
    pub(crate) fn new(mounts: &V1Mounts, name: &Path) -> Self {
        let in_tree = |mount: &PathBuf| mount.join(name);
        Self(V1Mounts {
            memory: in_tree(&mounts.memory),
            cpu: in_tree(&mounts.cpu),
            cpuacct: mounts.cpuacct.as_ref().map(in_tree),
            pids: in_tree(&mounts.pids),
            freezer: mounts.freezer.as_ref().map(in_tree),
        })
    }

    /// Each directory once, also where controllers share a mount.
    pub(crate) fn all(&self) -> Vec<&Path> {
        let Self(dirs) = self;
        let mut all: Vec<&Path> = vec![&dirs.pids, &dirs.memory, &dirs.cpu];
        all.extend(dirs.cpuacct.as_deref());
        all.extend(dirs.freezer.as_deref());
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The directory whose process list is asked.
    pub(crate) fn members(&self) -> &Path {
        &self.0.pids
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        self.set_memory(limits.memory_bytes)?;
        let quota = limits.cpu_millis.map_or_else(|| "-1".to_owned(), |millis| quota_us(millis).to_string());
        write(&self.0.cpu, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
        write(&self.0.cpu, "cpu.cfs_quota_us", &quota)?;
        write(&self.0.cpu, "cpu.shares", &shares(limits.cpu_weight).to_string())?;
        let processes = limits.processes.map_or_else(|| "max".to_owned(), |count| count.to_string());
        write(&self.0.pids, "pids.max", &processes)
    }

    /// A limit below what is used and cannot be given back is refused as busy, and the old one stays. Memory plus swap
    /// may never be below memory, so the order of the two writes depends on the direction.
    fn set_memory(&self, bytes: Option<u64>) -> io::Result<()> {
        let value = bytes.map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string());
        let (limit, with_swap) = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes");
        let dir = &self.0.memory;
        if !dir.join(with_swap).exists() {
            return write(dir, limit, &value);
        }
        if write(dir, with_swap, &value).is_ok() {
            return write(dir, limit, &value);
        }
        write(dir, limit, &value)?;
        write(dir, with_swap, &value)
    }

    /// Frozen processes cannot fork away from the signals; where there is no freezer the caller's loop has to win.
    pub(crate) fn freeze(&self) {
        let Some(dir) = self.0.freezer.as_deref() else { return };
        if write(dir, "freezer.state", "FROZEN").is_err() {
            return;
        }
        let deadline = Instant::now() + Duration::from_millis(100);
        while Instant::now() < deadline
            && !read(dir, "freezer.state").is_ok_and(|state| state.trim() == "FROZEN")
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// With what a program has frozen below, as an engine does that pauses its containers: killed, it could not die.
    pub(crate) fn thaw(&self) -> io::Result<()> {
        let Some(dir) = self.0.freezer.as_deref() else { return Ok(()) };
        for group in nested::below(dir)? {
            // One that is removed meanwhile has nobody in it.
            drop(write(&group, "freezer.state", "THAWED"));
        }
        write(dir, "freezer.state", "THAWED")
    }

    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        let Self(dirs) = self;
        let (cpu_user_ns, cpu_kernel_ns) = dirs.cpuacct.as_deref().map_or(Ok((0, 0)), cpu_time)?;
        let memory = read(&dirs.memory, "memory.stat")?;
        let used = read_number(&dirs.memory, "memory.usage_in_bytes")?;
        let limit = keyed(&memory, "hierarchical_memory_limit");
        Ok(JobStats {
            cpu_user_ns,
            cpu_kernel_ns,
            memory_bytes: used,
            memory_peak_bytes: read_number(&dirs.memory, "memory.max_usage_in_bytes")?,
            processes: u32::try_from(read_number(&dirs.pids, "pids.current")?).unwrap_or(u32::MAX),
            working_set_bytes: used.saturating_sub(keyed(&memory, "total_inactive_file")),
            memory_limit_bytes: (limit < UNLIMITED).then_some(limit),
            throttled_ns: keyed(&read(&dirs.cpu, "cpu.stat")?, "throttled_time"),
            // The block controller of this version counts only for devices that somebody throttles.
            ..JobStats::default()
        })
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        let hits = |dir: &Path| read(dir, "memory.oom_control").map(|text| keyed(&text, "oom_kill"));
        let own = hits(&self.0.memory)?;
        // This version counts where the killed one was, not where the limit is.
        Ok(nested::below(&self.0.memory)?
            .iter()
            .filter_map(|group| hits(group).ok())
            .fold(own, u64::saturating_add))
    }
}

/// In user and in kernel mode. The sum is exact; which part was which is only sampled by this version, at every tick.
fn cpu_time(dir: &Path) -> io::Result<(u64, u64)> {
    let exact = read_number(dir, "cpuacct.usage")?;
    let sampled = read(dir, "cpuacct.stat")?;
    Ok(divided(exact, keyed(&sampled, "user"), keyed(&sampled, "system")))
}

/// A whole in the proportion of two samples; nothing sampled yet means a program that has just begun, in its own code.
fn divided(whole: u64, first: u64, second: u64) -> (u64, u64) {
    let samples = u128::from(first) + u128::from(second);
    let part = (u128::from(whole) * u128::from(second)).checked_div(samples).unwrap_or(0);
    let second = u64::try_from(part).unwrap_or(whole);
    (whole - second, second)
}

fn quota_us(millis: u32) -> u64 {
    (u64::from(millis) * PERIOD_US / 1000).max(QUOTA_MIN_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_processor_is_half_the_period() {
        assert_eq!(quota_us(500), 50_000);
        assert_eq!(quota_us(2500), 250_000);
        assert_eq!(quota_us(1), QUOTA_MIN_US);
    }

    #[test]
    fn processor_time_is_exact_in_sum_however_few_ticks_saw_it() {
        assert_eq!(divided(1_000, 0, 0), (1_000, 0));
        assert_eq!(divided(1_001, 3, 1), (751, 250));
        assert_eq!(divided(u64::MAX, 1, u64::MAX), (1, u64::MAX - 1));
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cpuacct.usage"), "3141592\n").unwrap();
        std::fs::write(dir.path().join("cpuacct.stat"), "user 0\nsystem 2\n").unwrap();
        assert_eq!(cpu_time(dir.path()).unwrap(), (0, 3_141_592));
    }

    #[test]
    fn a_shared_mount_gives_one_directory() {
        let mounts = V1Mounts {
            memory: "/m".into(),
            cpu: "/c".into(),
            cpuacct: Some("/c".into()),
            pids: "/p".into(),
            freezer: None,
        };
        let dirs = Dirs::new(&mounts, Path::new("parent/id"));
        assert_eq!(
            dirs.all(),
            [Path::new("/c/parent/id"), Path::new("/m/parent/id"), Path::new("/p/parent/id")]
        );
    }
}
