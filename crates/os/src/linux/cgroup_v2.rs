//! A job as one directory of cgroup v2.

use std::io;
use std::path::{Path, PathBuf};

use super::cgroup::{keyed, read, read_number, write};
use crate::job::{JobLimits, JobStats};

const PERIOD_US: u64 = 100_000;
const QUOTA_MIN_US: u64 = 1_000;

/// The directory of one job.
#[derive(Clone, Debug)]
pub(crate) struct Dir(PathBuf);

impl Dir {
    pub(crate) fn new(root: &Path, name: &Path) -> Self {
        Self(root.join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Controllers must be handed down at every level above the job before it exists.
    pub(crate) fn delegate(&self) {
        let above: Vec<&Path> = self.0.ancestors().skip(1).take(2).collect();
        for dir in above.into_iter().rev() {
            for controller in ["+memory", "+cpu", "+pids"] {
                // A controller that cannot be had shows as a refused limit, with the file's name.
                drop(write(dir, "cgroup.subtree_control", controller));
            }
        }
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        files(limits).into_iter().try_for_each(|(file, value)| self.set(file, &value))
    }

    /// A controller that is not there is an error only when something is to be limited by it.
    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        if self.0.join(file).exists() {
            return write(&self.0, file, value);
        }
        if !value.starts_with("max") && file != "memory.swap.max" {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("this cgroup tree has no {file}"),
            ));
        }
        Ok(())
    }

    /// One write that no fork can escape; kernels before 5.14 do not have it.
    pub(crate) fn kill(&self) -> io::Result<()> {
        write(&self.0, "cgroup.kill", "1")
    }

    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        let cpu = read(&self.0, "cpu.stat")?;
        let memory = self.number_or_zero("memory.current")?;
        let inactive = read(&self.0, "memory.stat").map(|text| keyed(&text, "inactive_file")).unwrap_or(0);
        Ok(JobStats {
            cpu_user_ns: keyed(&cpu, "user_usec") * 1000,
            cpu_kernel_ns: keyed(&cpu, "system_usec") * 1000,
            memory_bytes: memory.saturating_sub(inactive),
            memory_peak_bytes: self.number_or_zero("memory.peak")?.max(memory),
            processes: u32::try_from(self.number_or_zero("pids.current")?).unwrap_or(u32::MAX),
        })
    }

    fn number_or_zero(&self, file: &str) -> io::Result<u64> {
        match read_number(&self.0, file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            other => other,
        }
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        read(&self.0, "memory.events").map(|text| keyed(&text, "oom_kill"))
    }
}

/// What is written for these limits. Swap goes with memory: a limit that spills over to disk is none.
fn files(limits: &JobLimits) -> [(&'static str, String); 4] {
    let or_max = |value: Option<u64>| value.map_or_else(|| "max".to_owned(), |value| value.to_string());
    let quota = limits.cpu_millis.map(|millis| (u64::from(millis) * PERIOD_US / 1000).max(QUOTA_MIN_US));
    [
        ("memory.swap.max", or_max(limits.memory_bytes.map(|_| 0))),
        ("memory.max", or_max(limits.memory_bytes)),
        ("cpu.max", format!("{} {PERIOD_US}", or_max(quota))),
        ("pids.max", or_max(limits.processes.map(u64::from))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limits: JobLimits) -> Vec<String> {
        files(&limits).into_iter().map(|(file, value)| format!("{file}={value}")).collect()
    }

    #[test]
    fn no_limits_are_written_as_max() {
        let expected = ["memory.swap.max=max", "memory.max=max", "cpu.max=max 100000", "pids.max=max"];
        assert_eq!(written(JobLimits::default()), expected);
    }

    #[test]
    fn a_memory_limit_takes_swap_away() {
        let limits = JobLimits { memory_bytes: Some(1 << 20), cpu_millis: Some(1500), processes: Some(7) };
        let expected = ["memory.swap.max=0", "memory.max=1048576", "cpu.max=150000 100000", "pids.max=7"];
        assert_eq!(written(limits), expected);
    }

    #[test]
    fn a_limit_without_its_controller_is_refused_and_no_limit_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let job = Dir::new(dir.path(), Path::new("."));
        job.set_limits(&JobLimits::default()).unwrap();
        let error = job.set_limits(&JobLimits { cpu_millis: Some(100), ..JobLimits::default() }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("cpu.max"), "{error}");
    }
}
