//! A job as one directory of cgroup v2.

use std::io;
use std::path::{Path, PathBuf};

use super::cgroup::{keyed, read, read_number, weight, write};
use crate::job::{JobLimits, JobStats};

const PERIOD_US: u64 = 100_000;
const QUOTA_MIN_US: u64 = 1_000;

/// The directory of one job.
#[derive(Clone, Debug)]
pub(crate) struct Dir(PathBuf);

/// A file and what to write to it.
struct Setting {
    file: &'static str,
    value: String,
    /// Without the file what is asked for cannot be had.
    needed: bool,
}

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
            for controller in ["+memory", "+cpu", "+pids", "+io"] {
                // A controller that cannot be had shows as a refused limit, with the file's name.
                drop(write(dir, "cgroup.subtree_control", controller));
            }
        }
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        files(limits).into_iter().try_for_each(|file| self.set(&file))
    }

    /// A controller that is not there is an error only when something is to be limited by it.
    fn set(&self, Setting { file, value, needed }: &Setting) -> io::Result<()> {
        if self.0.join(file).exists() {
            return write(&self.0, file, value);
        }
        if *needed {
            let text = format!("this cgroup tree has no {file}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
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
        let (read_bytes, write_bytes) = transferred(&read(&self.0, "io.stat").unwrap_or_default());
        Ok(JobStats {
            cpu_user_ns: keyed(&cpu, "user_usec") * 1000,
            cpu_kernel_ns: keyed(&cpu, "system_usec") * 1000,
            memory_bytes: memory,
            memory_peak_bytes: self.number_or_zero("memory.peak")?.max(memory),
            processes: u32::try_from(self.number_or_zero("pids.current")?).unwrap_or(u32::MAX),
            working_set_bytes: memory.saturating_sub(inactive),
            // The word for none is not a number.
            memory_limit_bytes: read_number(&self.0, "memory.max").ok(),
            read_bytes,
            write_bytes,
            throttled_ns: keyed(&cpu, "throttled_usec") * 1000,
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
fn files(limits: &JobLimits) -> [Setting; 5] {
    let or_max = |value: Option<u64>| value.map_or_else(|| "max".to_owned(), |value| value.to_string());
    let quota = limits.cpu_millis.map(|millis| (u64::from(millis) * PERIOD_US / 1000).max(QUOTA_MIN_US));
    let setting = |file, value, needed| Setting { file, value, needed };
    [
        setting("memory.swap.max", or_max(limits.memory_bytes.map(|_| 0)), false),
        setting("memory.max", or_max(limits.memory_bytes), limits.memory_bytes.is_some()),
        setting("cpu.max", format!("{} {PERIOD_US}", or_max(quota)), quota.is_some()),
        setting("cpu.weight", weight(limits.cpu_weight).to_string(), limits.cpu_weight.is_some()),
        setting("pids.max", or_max(limits.processes.map(u64::from)), limits.processes.is_some()),
    ]
}

/// Read and written bytes, summed over the devices of `io.stat`.
fn transferred(text: &str) -> (u64, u64) {
    let sum = |name: &str| {
        let values =
            text.split_whitespace().filter_map(|field| field.strip_prefix(name)?.parse::<u64>().ok());
        values.fold(0, u64::saturating_add)
    };
    (sum("rbytes="), sum("wbytes="))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(limits: JobLimits) -> Vec<String> {
        files(&limits).into_iter().map(|it| format!("{}={}", it.file, it.value)).collect()
    }

    #[test]
    fn no_limits_are_written_as_max() {
        let expected =
            ["memory.swap.max=max", "memory.max=max", "cpu.max=max 100000", "cpu.weight=100", "pids.max=max"];
        assert_eq!(written(JobLimits::default()), expected);
    }

    #[test]
    fn a_memory_limit_takes_swap_away() {
        let (processes, cpu_weight) = (Some(7), Some(50));
        let limits = JobLimits { memory_bytes: Some(1 << 20), cpu_millis: Some(1500), processes, cpu_weight };
        let expected = [
            "memory.swap.max=0",
            "memory.max=1048576",
            "cpu.max=150000 100000",
            "cpu.weight=50",
            "pids.max=7",
        ];
        assert_eq!(written(limits), expected);
    }

    #[test]
    fn bytes_are_summed_over_devices() {
        let text = "254:0 rbytes=10 wbytes=200 rios=1 wios=2 dbytes=0 dios=0\n7:0 rbytes=5 wbytes=6\n";
        assert_eq!(transferred(text), (15, 206));
        assert_eq!(transferred(""), (0, 0));
    }

    /// The files as a kernel of v2 shows them: the machine that runs this may have v1 only.
    #[test]
    fn usage_is_read_from_a_handful_of_files() {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("cpu.stat", "usage_usec 30\nuser_usec 10\nsystem_usec 20\nthrottled_usec 5\n"),
            ("memory.current", "1000\n"),
            ("memory.stat", "anon 1\ninactive_file 300\n"),
            ("memory.peak", "2000\n"),
            ("memory.max", "4096\n"),
            ("pids.current", "3\n"),
            ("io.stat", "254:0 rbytes=10 wbytes=20\n"),
        ] {
            std::fs::write(dir.path().join(file), text).unwrap();
        }
        let job = Dir::new(dir.path(), Path::new("."));
        let expected = JobStats {
            cpu_user_ns: 10_000,
            cpu_kernel_ns: 20_000,
            memory_bytes: 1000,
            memory_peak_bytes: 2000,
            processes: 3,
            working_set_bytes: 700,
            memory_limit_bytes: Some(4096),
            read_bytes: 10,
            write_bytes: 20,
            throttled_ns: 5000,
        };
        assert_eq!(job.stats().unwrap(), expected);
        std::fs::write(dir.path().join("memory.max"), "max\n").unwrap();
        assert_eq!(job.stats().unwrap().memory_limit_bytes, None);
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
