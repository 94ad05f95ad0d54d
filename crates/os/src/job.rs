//! Jobs: a group of processes that is limited, counted and ended as one. A container is a job.
//!
//! Only the holder creates jobs. On Windows the job dies with its last handle, so an agent that kept one would keep
//! containers alive after their holder; on Linux [`sweep`] gives the agent the same effect after a crash.

use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::{Child, Spawn, SpawnError};
use crate::sys;

/// Where a job stands: a cgroup `/<parent>/<id>` on Linux, a job object `<parent>-<id>` on Windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobName {
    pub parent: String,
    pub id: String,
}

/// What a job may use at most; `None` is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLimits {
    pub memory_bytes: Option<u64>,
    /// Thousandths of one processor.
    pub cpu_millis: Option<u32>,
    pub processes: Option<u32>,
    /// The share against others when processors are short, 1 to 10000; each system has its own middle for `None`.
    #[serde(default)]
    pub cpu_weight: Option<u32>,
}

/// What a job has used so far, the ended processes' share included. What this host does not count is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStats {
    pub cpu_user_ns: u64,
    pub cpu_kernel_ns: u64,
    /// All that is counted as the job's, on Linux also files it has read and could let go.
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    pub processes: u32,
    /// What cannot be taken away without harm, as a kubelet counts it: without files that were not used lately.
    #[serde(default)]
    pub working_set_bytes: u64,
    #[serde(default)]
    pub memory_limit_bytes: Option<u64>,
    /// From and to disks. Linux with cgroup v1 counts neither.
    #[serde(default)]
    pub read_bytes: u64,
    #[serde(default)]
    pub write_bytes: u64,
    /// How long its threads would have run and were not let, because of `cpu_millis`.
    #[serde(default)]
    pub throttled_ns: u64,
}

/// A group of processes. Closing or dropping it ends whatever is still inside.
#[derive(Debug)]
pub struct Job(sys::job::Job);

// === impl JobName ===

impl JobName {
    /// Both parts become one path component each: anything that could climb or nest is refused.
    pub(crate) fn checked(&self) -> io::Result<(&str, &str)> {
        let parent = self.parent.trim_start_matches('/');
        for part in [parent, self.id.as_str()] {
            let bad = part.is_empty() || part.len() > 200 || part.starts_with('.');
            if bad || part.contains(['/', '\\', '\0', '\n']) {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("not a job name: {part:?}")));
            }
        }
        Ok((parent, &self.id))
    }
}

// === impl JobLimits ===

impl JobLimits {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    fn checked(&self) -> io::Result<&Self> {
        match self.cpu_weight {
            Some(weight) if !(1..=10_000).contains(&weight) => {
                let text = format!("the processor weight is {weight}: wanted 1 to 10000");
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
            _ => Ok(self),
        }
    }
}

// === impl Job ===

impl Job {
    /// A fresh, empty job. One of that name that exists already is an `AlreadyExists` error: it is not ours.
    pub fn create(name: &JobName) -> io::Result<Self> {
        name.checked()?;
        sys::job::Job::create(name).map(Self)
    }

    /// Replaces all limits, also while processes run. A limit this host cannot enforce is `Unsupported`.
    pub fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        self.0.set_limits(limits.checked()?)
    }

    /// Starts a process that is inside the job before its first instruction.
    ///
    /// On Linux the kernel ties the child's death signal to the *thread* that calls this, so call it from a thread
    /// that lives as long as the holder. All processes of a job share one [`view`](Spawn::view).
    pub fn spawn(&self, spawn: &Spawn) -> Result<Child, SpawnError> {
        self.0.spawn(spawn)
    }

    /// Ends every process in the job at once. `exit_code` is what Windows reports for them; Linux reports SIGKILL.
    pub fn terminate(&self, exit_code: u32) -> io::Result<()> {
        self.0.terminate(exit_code)
    }

    /// Whether the job became empty within `timeout`.
    pub fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        self.0.wait_empty(timeout)
    }

    pub fn processes(&self) -> io::Result<Vec<u32>> {
        self.0.processes()
    }

    pub fn stats(&self) -> io::Result<JobStats> {
        self.0.stats()
    }

    /// How often the memory limit struck: processes killed on Linux, refused allocations seen on Windows.
    pub fn memory_limit_hits(&self) -> io::Result<u64> {
        self.0.memory_limit_hits()
    }

    /// Ends what is left, then removes the cgroup or closes the handle.
    pub fn close(self) -> io::Result<()> {
        self.0.close()
    }
}

/// From now on the jobs of this process end with it, even if it is killed; also where the kernel would not do that.
/// To be called first thing in a program that makes jobs, before it has other threads.
pub fn end_with_us() -> io::Result<()> {
    sys::job::end_with_us()
}

/// Whether processes run in a job of that name, whoever made it. Where a job dies with its owner: no.
pub fn holds_processes(name: &JobName) -> io::Result<bool> {
    sys::job::holds_processes(name)
}

/// What a job has used, read from outside by its name. `None` where only its owner can tell: where looking would need
/// a handle of our own, or there is nothing to look at by name.
pub fn stats_of(name: &JobName) -> io::Result<Option<JobStats>> {
    name.checked()?;
    sys::job::stats_of(name)
}

/// Whether jobs can have limits here; otherwise why not.
pub fn limits_work() -> Result<(), String> {
    sys::job::limits_work()
}

/// For the agent after a crash: ends whatever is left in a job of that name and removes it; true if there was one.
/// Windows has nothing to sweep, the kernel did it when the holder's handle closed.
pub fn sweep(name: &JobName) -> io::Result<bool> {
    name.checked()?;
    sys::job::sweep(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(parent: &str, id: &str) -> JobName {
        JobName { parent: parent.into(), id: id.into() }
    }

    #[test]
    fn names_that_could_leave_their_place_are_refused() {
        for (parent, id) in
            [("p", ".."), ("p", "a/b"), ("..", "a"), ("p", ""), ("", "a"), ("p", "a\\b"), ("a/b", "c")]
        {
            assert!(name(parent, id).checked().is_err(), "{parent:?} {id:?}");
        }
    }

    #[test]
    fn a_weight_outside_its_range_is_refused_with_the_range() {
        for weight in [0, 10_001] {
            let limits = JobLimits { cpu_weight: Some(weight), ..JobLimits::default() };
            let error = limits.checked().unwrap_err();
            assert!(error.to_string().contains("1 to 10000"), "{error}");
        }
        JobLimits { cpu_weight: Some(10_000), ..JobLimits::default() }.checked().unwrap();
    }

    /// A holder may be older than its agent and know fewer fields.
    #[test]
    fn stats_and_limits_of_an_older_program_are_understood() {
        let old =
            r#"{"cpu_user_ns":1,"cpu_kernel_ns":2,"memory_bytes":3,"memory_peak_bytes":4,"processes":5}"#;
        let stats: JobStats = serde_json::from_str(old).unwrap();
        assert_eq!((stats.processes, stats.working_set_bytes, stats.memory_limit_bytes), (5, 0, None));
        let old = r#"{"memory_bytes":1,"cpu_millis":null,"processes":null}"#;
        assert_eq!(serde_json::from_str::<JobLimits>(old).unwrap().memory_bytes, Some(1));
    }

    #[test]
    fn a_parent_may_be_written_as_an_absolute_cgroup() {
        assert_eq!(name("/porthole-1", "c").checked().unwrap(), ("porthole-1", "c"));
    }
}
