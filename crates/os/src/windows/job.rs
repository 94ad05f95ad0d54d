//! A job as a named job object that dies with its one handle.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, GetLastError,
    INVALID_HANDLE_VALUE, SetLastError,
};
use windows_sys::Win32::System::IO::{CreateIoCompletionPort, GetQueuedCompletionStatus};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
    JOB_OBJECT_LIMIT_ACTIVE_PROCESS, JOB_OBJECT_LIMIT_JOB_MEMORY, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{ALL_PROCESSOR_GROUPS, GetActiveProcessorCount};

use super::handle::{check, code, error, millis, owned};
use super::{job_info, process, spawn, text};
use crate::job::{JobLimits, JobName, JobStats};
use crate::process::{Child, Spawn, SpawnError};

/// Completion-port messages, in the documentation's numbers.
const PROCESS_MEMORY_LIMIT: u32 = 9;
const JOB_MEMORY_LIMIT: u32 = 10;
/// Messages may get lost, so waiting looks for itself this often.
const LOOK: Duration = Duration::from_millis(20);
/// How long killed processes may take to end.
const LEAVE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Job {
    /// Never inheritable: a second handle anywhere would keep the job alive after us.
    handle: OwnedHandle,
    port: OwnedHandle,
    memory_hits: AtomicU64,
    cpu_limited: AtomicBool,
}

pub(crate) fn sweep(_name: &JobName) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn holds_processes(_name: &JobName) -> io::Result<bool> {
    Ok(false)
}

/// A job object does so by itself: its last handle is ours.
pub(crate) fn end_with_us() -> io::Result<()> {
    Ok(())
}

pub(crate) fn limits_work() -> Result<(), String> {
    Ok(())
}

// === impl Job ===

impl Job {
    pub(crate) fn create(name: &JobName) -> io::Result<Self> {
        let (parent, id) = name.checked()?;
        let handle = create_fresh(&format!("{parent}-{id}"))?;
        let mut limits = job_info::empty::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        job_info::set(&handle, &limits)?;
        // SAFETY: no file is attached; null and zero ask for a new port.
        let port = owned(unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) })?;
        let associate = JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
            CompletionKey: null_mut(),
            CompletionPort: port.as_raw_handle(),
        };
        job_info::set(&handle, &associate)?;
        Ok(Self { handle, port, memory_hits: AtomicU64::new(0), cpu_limited: AtomicBool::new(false) })
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        if limits.cpu_weight.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "no processor weights here yet"));
        }
        let mut wanted = job_info::empty::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>();
        let mut flags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        if let Some(bytes) = limits.memory_bytes {
            flags |= JOB_OBJECT_LIMIT_JOB_MEMORY;
            wanted.JobMemoryLimit = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(count) = limits.processes {
            flags |= JOB_OBJECT_LIMIT_ACTIVE_PROCESS;
            wanted.BasicLimitInformation.ActiveProcessLimit = count;
        }
        wanted.BasicLimitInformation.LimitFlags = flags;
        job_info::set(&self.handle, &wanted)?;
        self.set_cpu(limits.cpu_millis)
    }

    /// A job that never had a rate is left alone: some systems know no rate control at all.
    fn set_cpu(&self, limit: Option<u32>) -> io::Result<()> {
        if limit.is_none() && !self.cpu_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut control = job_info::empty::<JOBOBJECT_CPU_RATE_CONTROL_INFORMATION>();
        if let Some(limit) = limit {
            control.ControlFlags = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
            control.Anonymous.CpuRate = cpu_rate(limit, processors());
        }
        job_info::set(&self.handle, &control).map_err(unsupported_cpu_rate)?;
        self.cpu_limited.store(limit.is_some(), Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn spawn(&self, request: &Spawn) -> Result<Child, SpawnError> {
        spawn::spawn(request, self.handle.as_handle())
    }

    pub(crate) fn terminate(&self, exit_code: u32) -> io::Result<()> {
        // SAFETY: the job is open.
        check(unsafe { TerminateJobObject(self.handle.as_raw_handle(), exit_code) })
    }

    pub(crate) fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + timeout;
        while self.accounting()?.ActiveProcesses > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.hear(left.min(LOOK));
        }
        Ok(true)
    }

    /// Takes messages off the port, waiting at most so long for the first; true if there was one.
    fn hear(&self, timeout: Duration) -> bool {
        let (mut message, mut key, mut detail) = (0, 0, null_mut());
        // SAFETY: all results go to locals; the last is a process id, not a pointer, and is not followed.
        let heard = unsafe {
            let port = self.port.as_raw_handle();
            GetQueuedCompletionStatus(
                port,
                &raw mut message,
                &raw mut key,
                &raw mut detail,
                millis(Some(timeout)),
            )
        };
        if heard != 0 && matches!(message, PROCESS_MEMORY_LIMIT | JOB_MEMORY_LIMIT) {
            self.memory_hits.fetch_add(1, Ordering::Relaxed);
        }
        heard != 0
    }

    fn accounting(&self) -> io::Result<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION> {
        job_info::query(&self.handle)
    }

    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        job_info::process_ids(&self.handle)
    }

    /// Where the job's own sums are missing (an emulator) the living processes' are a lower bound.
    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        while self.hear(Duration::ZERO) {}
        let job = self.accounting()?;
        let limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = job_info::query(&self.handle)?;
        let living = process::usage(&self.processes()?);
        Ok(JobStats {
            cpu_user_ns: nanos(job.TotalUserTime).max(living.user_ns),
            cpu_kernel_ns: nanos(job.TotalKernelTime).max(living.kernel_ns),
            memory_bytes: living.memory_bytes,
            memory_peak_bytes: (limits.PeakJobMemoryUsed as u64).max(living.memory_bytes),
            processes: job.ActiveProcesses,
            working_set_bytes: living.memory_bytes,
            memory_limit_bytes: memory_limit(&limits),
            ..JobStats::default()
        })
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        while self.hear(Duration::ZERO) {}
        Ok(self.memory_hits.load(Ordering::Relaxed))
    }

    /// Closing would end the processes too, but not wait for it, and files of theirs would still be in use.
    pub(crate) fn close(self) -> io::Result<()> {
        if self.accounting()?.ActiveProcesses > 0 {
            self.terminate(137)?;
            self.wait_empty(LEAVE)?;
        }
        Ok(())
    }
}

fn create_fresh(name: &str) -> io::Result<OwnedHandle> {
    let wide = text::wide(name)?;
    // SAFETY: default security, so not inheritable; the last error is cleared to tell a new job from an old one.
    let (handle, existed) = unsafe {
        SetLastError(0);
        let handle = CreateJobObjectW(std::ptr::null(), wide.as_ptr());
        (handle, GetLastError() == ERROR_ALREADY_EXISTS)
    };
    let handle = owned(handle)?;
    if existed {
        let text = format!("a job named {name} exists");
        return Err(io::Error::new(error(ERROR_ALREADY_EXISTS).kind(), text));
    }
    Ok(handle)
}

fn memory_limit(limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) -> Option<u64> {
    let set = limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY != 0;
    set.then_some(limits.JobMemoryLimit as u64)
}

fn unsupported_cpu_rate(error: io::Error) -> io::Error {
    match code(&error) {
        ERROR_INVALID_PARAMETER | ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED => {
            io::Error::new(io::ErrorKind::Unsupported, format!("no CPU rate control here: {error}"))
        }
        _ => error,
    }
}

pub(crate) fn processors() -> u32 {
    // SAFETY: a plain number.
    unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) }.max(1)
}

/// The kernel counts in ten-thousandths of all processors together.
fn cpu_rate(millis: u32, processors: u32) -> u32 {
    let rate = u64::from(millis) * 10 / u64::from(processors.max(1));
    u32::try_from(rate.clamp(1, 10_000)).unwrap_or(10_000)
}

/// Times come in units of 100 ns.
fn nanos(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0) * 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_processor_of_four_is_an_eighth_of_all() {
        assert_eq!(cpu_rate(500, 4), 1250);
        assert_eq!(cpu_rate(64_000, 4), 10_000);
        assert_eq!(cpu_rate(1, 64), 1);
    }
}
