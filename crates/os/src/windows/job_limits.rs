//! Limits as a job object takes them: bytes and processes in one structure, processor time in another.

use windows_sys::Win32::System::JobObjects::{
    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
    JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED, JOB_OBJECT_LIMIT_ACTIVE_PROCESS, JOB_OBJECT_LIMIT_JOB_MEMORY,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_CPU_RATE_CONTROL_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
};

use super::job_info;
use crate::job::JobLimits;

/// How a job shares the processors. The kernel takes one of the two; a rate promises more than a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cpu {
    Free,
    /// Ten-thousandths of all processors together.
    Rate(u32),
    /// 1 to 9, where 5 is what every job has by itself.
    Weight(u32),
}

/// A job without limits still ends with its handle.
pub(crate) fn extended(limits: &JobLimits) -> JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
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
    wanted
}

// === impl Cpu ===

impl Cpu {
    pub(crate) fn of(limits: &JobLimits, processors: u32) -> Self {
        match (limits.cpu_millis, limits.cpu_weight) {
            (Some(millis), _) => Self::Rate(rate(millis, processors)),
            (None, Some(shares)) => Self::Weight(weight(shares)),
            (None, None) => Self::Free,
        }
    }

    pub(crate) fn control(self) -> JOBOBJECT_CPU_RATE_CONTROL_INFORMATION {
        let mut control = job_info::empty::<JOBOBJECT_CPU_RATE_CONTROL_INFORMATION>();
        match self {
            Self::Free => {}
            Self::Rate(rate) => {
                control.ControlFlags =
                    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
                control.Anonymous.CpuRate = rate;
            }
            Self::Weight(weight) => {
                control.ControlFlags =
                    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED;
                control.Anonymous.Weight = weight;
            }
        }
        control
    }
}

/// The kernel counts in ten-thousandths of all processors together.
fn rate(millis: u32, processors: u32) -> u32 {
    let rate = u64::from(millis) * 10 / u64::from(processors.max(1));
    u32::try_from(rate.clamp(1, 10_000)).unwrap_or(10_000)
}

/// From 1 to 10,000 shares to the kernel's nine steps.
fn weight(shares: u32) -> u32 {
    1 + 8 * shares.min(10_000) / 10_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_processor_of_four_is_an_eighth_of_all() {
        assert_eq!(rate(500, 4), 1250);
        assert_eq!(rate(64_000, 4), 10_000);
        assert_eq!(rate(1, 64), 1);
    }

    #[test]
    fn shares_become_nine_steps() {
        for (shares, step) in [(0, 1), (1, 1), (1249, 1), (1250, 2), (5000, 5), (10_000, 9), (90_000, 9)] {
            assert_eq!(weight(shares), step, "{shares}");
        }
    }

    #[test]
    fn a_rate_wins_over_a_weight_and_never_are_both_set() {
        let both = JobLimits { cpu_millis: Some(500), cpu_weight: Some(5000), ..JobLimits::default() };
        assert_eq!(Cpu::of(&both, 4), Cpu::Rate(1250));
        assert_eq!(Cpu::of(&both, 4).control().ControlFlags, 0x5);
        let weight = JobLimits { cpu_weight: Some(5000), ..JobLimits::default() };
        assert_eq!(Cpu::of(&weight, 4).control().ControlFlags, 0x3);
        assert_eq!(Cpu::of(&JobLimits::default(), 4).control().ControlFlags, 0);
    }

    #[test]
    fn every_set_of_limits_keeps_the_end_with_the_handle() {
        let limits = JobLimits { memory_bytes: Some(1 << 20), processes: Some(3), ..JobLimits::default() };
        assert_eq!(extended(&limits).BasicLimitInformation.LimitFlags, 0x2000 | 0x200 | 0x8);
        assert_eq!(extended(&limits).JobMemoryLimit, 1 << 20);
        assert_eq!(extended(&JobLimits::default()).BasicLimitInformation.LimitFlags, 0x2000);
    }
}
