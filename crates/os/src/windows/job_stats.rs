//! What a job has used: its own sums where the kernel keeps them, the living processes' where it does not.

use std::io;
use std::os::windows::io::OwnedHandle;

use windows_sys::Win32::System::JobObjects::{
    JOB_OBJECT_LIMIT_JOB_MEMORY, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECT_IO_ATTRIBUTION_CONTROL_ENABLE,
    JOBOBJECT_IO_ATTRIBUTION_INFORMATION,
};

use super::job_info::{self, MemoryUsage};
use super::usage::{Usage, usage};
use crate::job::JobStats;

/// Disk traffic is counted from here on; a system that cannot says nothing of it later.
pub(crate) fn count_traffic(job: &OwnedHandle) {
    let mut attribution = job_info::empty::<JOBOBJECT_IO_ATTRIBUTION_INFORMATION>();
    attribution.ControlFlags = JOBOBJECT_IO_ATTRIBUTION_CONTROL_ENABLE.cast_unsigned();
    let _ = job_info::set(job, &attribution);
}

/// Four questions to the kernel and one per living process; nothing is walked.
pub(crate) fn stats(job: &OwnedHandle) -> io::Result<JobStats> {
    let accounting: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = job_info::query(job)?;
    let limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = job_info::query(job)?;
    let living = usage(&job_info::process_ids(job)?);
    let memory = memory(job, &limits, &living);
    let traffic = job_info::query::<JOBOBJECT_IO_ATTRIBUTION_INFORMATION>(job).unwrap_or_default();
    Ok(JobStats {
        cpu_user_ns: nanos(accounting.TotalUserTime).max(living.user_ns),
        cpu_kernel_ns: nanos(accounting.TotalKernelTime).max(living.kernel_ns),
        memory_bytes: memory.committed,
        memory_peak_bytes: memory.peak,
        processes: accounting.ActiveProcesses,
        working_set_bytes: living.private_bytes,
        memory_limit_bytes: memory_limit(&limits),
        read_bytes: traffic.ReadStats.TotalSize,
        write_bytes: traffic.WriteStats.TotalSize,
        ..JobStats::default()
    })
}

/// Committed bytes, because these are what the limit counts. Resident ones stand in where a system does not tell.
fn memory(job: &OwnedHandle, limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION, living: &Usage) -> MemoryUsage {
    job_info::query(job).unwrap_or_else(|_| MemoryUsage {
        committed: living.resident_bytes,
        peak: (limits.PeakJobMemoryUsed as u64).max(living.resident_bytes),
    })
}

fn memory_limit(limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) -> Option<u64> {
    let limited = limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY != 0;
    limited.then_some(limits.JobMemoryLimit as u64)
}

/// Times come in units of 100 ns.
fn nanos(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0) * 100
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobLimits;
    use crate::sys::job_limits::extended;

    #[test]
    fn a_limit_is_reported_only_where_there_is_one() {
        let limits = JobLimits { memory_bytes: Some(64 << 20), ..JobLimits::default() };
        assert_eq!(memory_limit(&extended(&limits)), Some(64 << 20));
        assert_eq!(memory_limit(&extended(&JobLimits::default())), None);
    }
}
