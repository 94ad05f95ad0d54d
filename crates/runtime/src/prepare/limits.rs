//! Limits a job can be given, and CRI's way of writing them.

use os::job::JobLimits;
use plan::limits::{Asked, Cpu, LimitError};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsRefused {
    #[error(transparent)]
    Plan(#[from] LimitError),
    #[error("a limit of no {0}: leave it out for no limit")]
    Zero(&'static str),
    #[error("limits cannot be kept on this host: {0}")]
    Host(String),
}

pub(crate) fn check(limits: &JobLimits) -> Result<(), LimitsRefused> {
    let zero = [
        ("memory", limits.memory_bytes == Some(0)),
        ("processor time", limits.cpu_millis == Some(0)),
        ("processes", limits.processes == Some(0)),
    ];
    if let Some((what, _)) = zero.into_iter().find(|(_, zero)| *zero) {
        return Err(LimitsRefused::Zero(what));
    }
    let shares = limits.cpu_weight.map_or(0, i64::from);
    let maximum = i64::from(limits.cpu_millis.is_some());
    Asked { cpu_shares: shares, cpu_maximum: maximum, ..Asked::default() }.for_a_job(1)?;
    if limits.is_unlimited() { Ok(()) } else { os::job::limits_work().map_err(LimitsRefused::Host) }
}

/// What a kubelet asks of a Windows container, as a job is told it on a machine with so many processors.
pub fn of_cri(asked: &Asked, processors: u32) -> Result<JobLimits, LimitError> {
    let limits = asked.for_a_job(processors)?;
    let millis = |rate: u32| {
        let millis = u64::from(rate) * u64::from(processors.max(1)) / 10;
        u32::try_from(millis).unwrap_or(u32::MAX).max(1)
    };
    let (cpu_millis, cpu_weight) = match limits.cpu {
        None => (None, None),
        Some(Cpu::Rate(rate)) => (Some(millis(rate)), None),
        Some(Cpu::Weight(_)) => (None, u32::try_from(asked.cpu_shares).ok()),
    };
    Ok(JobLimits { memory_bytes: limits.memory_bytes, cpu_millis, cpu_weight, ..JobLimits::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: HP-08 pure
    #[test]
    fn what_a_kubelet_asks_becomes_thousandths_of_a_processor() {
        let of = |asked: Asked| of_cri(&asked, 4).unwrap();
        let maximum = of(Asked { cpu_maximum: 1250, memory_bytes: 64 << 20, ..Asked::default() });
        assert_eq!((maximum.cpu_millis, maximum.memory_bytes), (Some(500), Some(64 << 20)));
        assert_eq!(of(Asked { cpu_count: 1, ..Asked::default() }).cpu_millis, Some(1000));
        let shares = of(Asked { cpu_shares: 5000, ..Asked::default() });
        assert_eq!((shares.cpu_weight, shares.cpu_millis), (Some(5000), None));
        assert!(of(Asked::default()).is_unlimited());
    }

    #[test]
    fn limits_of_nothing_and_two_kinds_at_once_are_refused() {
        let zero = JobLimits { memory_bytes: Some(0), ..JobLimits::default() };
        assert_eq!(check(&zero), Err(LimitsRefused::Zero("memory")));
        let both = JobLimits { cpu_millis: Some(5), cpu_weight: Some(5), ..JobLimits::default() };
        assert!(matches!(check(&both), Err(LimitsRefused::Plan(LimitError::Both { .. }))));
        let shares = JobLimits { cpu_weight: Some(10_001), ..JobLimits::default() };
        assert_eq!(check(&shares), Err(LimitsRefused::Plan(LimitError::Shares(10_001))));
        assert_eq!(check(&JobLimits::default()), Ok(()));
    }
}
