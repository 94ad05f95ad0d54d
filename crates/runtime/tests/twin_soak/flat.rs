//! When a process counts as flat.
//!
//! Descriptors and threads must not grow at all. Memory may be a little more than after the first tenth, by a fixed
//! amount however long it goes on: an allocator keeps what was ever in use at once, and that comes by chance.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::process::{Use, used};

/// How long threads and descriptors of the last work may take to go.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// One process over the time of a soak.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) who: &'static str,
    pub(crate) allowed_kib: u64,
    /// After the first tenth, then after each further one.
    pub(crate) seen: Vec<Use>,
}

/// What a process has once what is on its way out is gone: no more than at first, or what it has when patience ends.
fn settled(pid: u32, first: Option<&Use>, patience: Duration) -> Use {
    let deadline = Instant::now() + patience;
    loop {
        let now = used(pid);
        let calm = match first {
            Some(first) => !now.holds_more_than(first),
            None => used(pid) == now,
        };
        if calm || Instant::now() > deadline {
            return now;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

// === impl Series ===

impl Series {
    pub(crate) fn new(who: &'static str, allowed_kib: u64) -> Series {
        Series { who, allowed_kib, seen: Vec::new() }
    }

    pub(crate) fn look(&mut self, pid: u32) {
        let (first, last) = (self.seen.first(), self.seen.last());
        // Waited for in vain once is enough.
        let late = first.zip(last).is_some_and(|(first, last)| last.holds_more_than(first));
        let patience = if late { Duration::ZERO } else { PATIENCE };
        self.seen.push(settled(pid, first, patience));
    }

    /// In which way it grew, if it did.
    pub(crate) fn grown(&self) -> Option<String> {
        let (Some(first), Some(last)) = (self.seen.first(), self.seen.last()) else {
            return Some(format!("{} was never looked at", self.who));
        };
        let most = self.seen.iter().map(|used| used.anonymous_kib).max().unwrap_or_default();
        let grows = last.holds_more_than(first) || most > first.anonymous_kib + self.allowed_kib;
        grows.then(|| format!("{}: {:?}", self.who, self.seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(seen: &[(u64, u64, u64)]) -> Series {
        let used = |&(anonymous_kib, descriptors, threads): &(u64, u64, u64)| Use {
            anonymous_kib,
            descriptors,
            threads,
        };
        Series { seen: seen.iter().map(used).collect(), ..Series::new("x", 100) }
    }

    #[test]
    fn flat_is_no_descriptor_no_thread_and_little_memory_more() {
        assert_eq!(series(&[(1000, 9, 3), (1100, 9, 3), (900, 8, 3)]).grown(), None);
        assert_eq!(series(&[(1000, 9, 3), (1000, 12, 5), (1000, 9, 3)]).grown(), None, "only for a while");
        for grown in [(1000, 10, 3), (1000, 9, 4), (1101, 9, 3)] {
            assert!(series(&[(1000, 9, 3), grown]).grown().is_some(), "{grown:?}");
        }
        assert!(series(&[]).grown().is_some());
    }

    #[test]
    fn memory_that_was_too_much_once_is_not_forgiven() {
        assert!(series(&[(1000, 9, 3), (1200, 9, 3), (1000, 9, 3)]).grown().is_some());
    }
}
