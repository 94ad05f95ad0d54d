//! How many processors a container keeps busy: the difference between two looks at its clock.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use runtime::ContainerId;

/// The last look at each container, and what was found.
#[derive(Debug, Default)]
pub(super) struct Cores(Mutex<HashMap<ContainerId, Look>>);

#[derive(Debug, Clone, Copy)]
struct Look {
    at: i64,
    cpu_ns: u64,
    rate: Option<u64>,
}

/// Two looks that are nearer to each other say nothing.
const APART: i64 = 1_000_000_000;
/// More than fit onto a machine: those that are gone are forgotten.
const MOST: usize = 4096;

// === impl Cores ===

impl Cores {
    /// Thousand-millionths of a processor; none at the first look.
    pub(super) fn rate(&self, id: &ContainerId, at: i64, cpu_ns: u64) -> Option<u64> {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() > MOST {
            looks.clear();
        }
        let look = match looks.get(id) {
            Some(last) if at.saturating_sub(last.at) < APART => return last.rate,
            Some(last) => Look { at, cpu_ns, rate: between(last, at, cpu_ns) },
            None => Look { at, cpu_ns, rate: None },
        };
        looks.insert(id.clone(), look);
        look.rate
    }
}

fn between(last: &Look, at: i64, cpu_ns: u64) -> Option<u64> {
    let passed = u128::try_from(at.saturating_sub(last.at)).ok().filter(|passed| *passed > 0)?;
    let used = u128::from(cpu_ns.saturating_sub(last.cpu_ns));
    u64::try_from(used * 1_000_000_000 / passed).ok()
}

#[cfg(test)]
mod tests {
    use runtime::PodId;

    use super::*;

    #[test]
    fn half_a_processor_for_two_seconds() {
        let cores = Cores::default();
        let id = ContainerId::of(&PodId::parse("p").unwrap(), "main", 0);
        let second = 1_000_000_000;
        assert_eq!(cores.rate(&id, second, 0), None);
        assert_eq!(cores.rate(&id, second + 5, 5), None, "too near");
        assert_eq!(cores.rate(&id, 3 * second, 1_000_000_000), Some(500_000_000));
        assert_eq!(cores.rate(&id, 3 * second + 5, 0), Some(500_000_000), "the last one stays");
        assert_eq!(cores.rate(&id, 5 * second, 0), Some(0), "a clock that went back");
    }
}
