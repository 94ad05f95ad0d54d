//! CRI's resources as a job object understands them.
//!
//! A job takes a share of the whole machine in hundredths of a percent, or a weight of one to nine, never both; memory
//! is what its processes commit together.

/// What a container may ask for. Zero means not asked for, as in CRI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    pub memory_bytes: i64,
    /// Processors.
    pub cpu_count: i64,
    /// Hundredths of a percent of all processors.
    pub cpu_maximum: i64,
    /// 1 to 10000.
    pub cpu_shares: i64,
}

/// What the job is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobLimits {
    pub memory_bytes: Option<u64>,
    pub cpu: Option<Cpu>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpu {
    /// A hard cap, 1 to 10000.
    Rate(u32),
    /// Against other jobs, 1 to 9.
    Weight(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    #[error("{what} is {value}: wanted a number that is not negative")]
    Negative { what: &'static str, value: i64 },
    #[error("{first} and {second} are both set: a job takes one of them")]
    Both { first: &'static str, second: &'static str },
    #[error("cpu_maximum is {0}: wanted 1 to 10000, hundredths of a percent of the machine")]
    Maximum(i64),
    #[error("cpu_shares is {0}: wanted 1 to 10000")]
    Shares(i64),
}

const MIB: u64 = 1 << 20;
/// The whole machine.
pub const WHOLE: u32 = 10_000;

// === impl Asked ===

impl Asked {
    /// What to tell the job on a machine with so many processors.
    pub fn for_a_job(&self, processors: u32) -> Result<JobLimits, LimitError> {
        let memory = not_negative("memory_limit_in_bytes", self.memory_bytes)?;
        let set: Vec<&'static str> = [
            ("cpu_count", not_negative("cpu_count", self.cpu_count)?),
            ("cpu_maximum", not_negative("cpu_maximum", self.cpu_maximum)?),
            ("cpu_shares", not_negative("cpu_shares", self.cpu_shares)?),
        ]
        .into_iter()
        .filter_map(|(name, value)| (value > 0).then_some(name))
        .collect();
        if let [first, second, ..] = set[..] {
            return Err(LimitError::Both { first, second });
        }
        Ok(JobLimits {
            memory_bytes: (memory > 0).then(|| whole_mebibytes(memory)),
            cpu: self.cpu(processors)?,
        })
    }

    fn cpu(&self, processors: u32) -> Result<Option<Cpu>, LimitError> {
        let within = |value: i64| u32::try_from(value).ok().filter(|value| *value <= WHOLE);
        match (self.cpu_count, self.cpu_maximum, self.cpu_shares) {
            (0, 0, 0) => Ok(None),
            (0, 0, shares) => {
                let shares = within(shares).ok_or(LimitError::Shares(shares))?;
                Ok(Some(Cpu::Weight(1 + 8 * shares / WHOLE)))
            }
            (0, maximum, _) => Ok(Some(Cpu::Rate(within(maximum).ok_or(LimitError::Maximum(maximum))?))),
            (count, ..) => {
                let processors = processors.max(1);
                let count = u32::try_from(count).unwrap_or(u32::MAX).min(processors);
                let rate = u64::from(count) * u64::from(WHOLE) / u64::from(processors);
                Ok(Some(Cpu::Rate(u32::try_from(rate).unwrap_or(WHOLE).max(1))))
            }
        }
    }
}

/// What a kubelet makes of a limit in thousandths of a processor.
pub fn maximum_of_millis(millis: u64, processors: u32) -> u32 {
    let share = 10 * u128::from(millis) / u128::from(processors.max(1));
    u32::try_from(share).unwrap_or(WHOLE).clamp(1, WHOLE)
}

/// Whole mebibytes, as others do it, but never none: to a job zero is no limit at all.
fn whole_mebibytes(bytes: u64) -> u64 {
    (bytes / MIB).max(1) * MIB
}

fn not_negative(what: &'static str, value: i64) -> Result<u64, LimitError> {
    u64::try_from(value).map_err(|_| LimitError::Negative { what, value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cpu(asked: Asked, processors: u32) -> Result<Option<Cpu>, LimitError> {
        asked.for_a_job(processors).map(|limits| limits.cpu)
    }

    // proves: HP-08 pure
    #[test]
    fn memory_is_whole_mebibytes_and_never_nothing() {
        for (bytes, expected) in [
            (0, None),
            (1, Some(MIB)),
            (1_048_575, Some(MIB)),
            (1_048_577, Some(MIB)),
            (64 << 20, Some(64 << 20)),
        ] {
            let asked = Asked { memory_bytes: bytes, ..Asked::default() };
            assert_eq!(asked.for_a_job(4).unwrap().memory_bytes, expected);
        }
    }

    // proves: HP-08 pure
    #[test]
    fn processors_become_a_share_of_the_machine() {
        for (count, processors, expected) in [(1, 4, 2500), (4, 4, 10_000), (9, 4, 10_000), (1, 64, 156)] {
            let asked = Asked { cpu_count: count, ..Asked::default() };
            assert_eq!(cpu(asked, processors), Ok(Some(Cpu::Rate(expected))));
        }
        for (maximum, expected) in [(1, Ok(Some(Cpu::Rate(1)))), (10_001, Err(LimitError::Maximum(10_001)))] {
            assert_eq!(cpu(Asked { cpu_maximum: maximum, ..Asked::default() }, 4), expected);
        }
        for (shares, expected) in [
            (1, Ok(Some(Cpu::Weight(1)))),
            (5000, Ok(Some(Cpu::Weight(5)))),
            (10_000, Ok(Some(Cpu::Weight(9)))),
            (10_001, Err(LimitError::Shares(10_001))),
        ] {
            assert_eq!(cpu(Asked { cpu_shares: shares, ..Asked::default() }, 4), expected);
        }
        assert_eq!(cpu(Asked::default(), 4), Ok(None));
    }

    #[test]
    fn two_ways_at_once_and_negative_numbers_are_refused() {
        let both = Asked { cpu_count: 1, cpu_maximum: 5, ..Asked::default() };
        assert_eq!(cpu(both, 4), Err(LimitError::Both { first: "cpu_count", second: "cpu_maximum" }));
        let both = Asked { cpu_maximum: 1, cpu_shares: 5, ..Asked::default() };
        assert_eq!(cpu(both, 4), Err(LimitError::Both { first: "cpu_maximum", second: "cpu_shares" }));
        let negative = Asked { memory_bytes: -1, ..Asked::default() };
        let error = negative.for_a_job(4).unwrap_err();
        assert_eq!(error, LimitError::Negative { what: "memory_limit_in_bytes", value: -1 });
    }

    #[test]
    fn a_kubelets_arithmetic() {
        for (millis, processors, expected) in
            [(500, 4, 1250), (1000, 1, 10_000), (8000, 4, 10_000), (1, 4, 2), (0, 4, 1), (100, 0, 1000)]
        {
            assert_eq!(maximum_of_millis(millis, processors), expected);
        }
    }

    proptest! {
        #[test]
        fn a_job_is_never_told_what_it_refuses(count in 0i64.., maximum in 0i64.., shares in 0i64.., on in 0u32..300) {
            let asked = |cpu_count, cpu_maximum, cpu_shares| Asked { cpu_count, cpu_maximum, cpu_shares, memory_bytes: 0 };
            for one in [asked(count, 0, 0), asked(0, maximum, 0), asked(0, 0, shares)] {
                match cpu(one, on) {
                    Ok(Some(Cpu::Rate(rate))) => prop_assert!((1..=WHOLE).contains(&rate)),
                    Ok(Some(Cpu::Weight(weight))) => prop_assert!((1..=9).contains(&weight)),
                    Ok(None) => prop_assert_eq!(one, Asked::default()),
                    Err(_) => {}
                }
            }
        }
    }
}
