//! Chance that can be thrown again: everything follows from one seed.

use std::time::{SystemTime, UNIX_EPOCH};

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// `PORTHOLE_SEED`, else a new one each time; printed, so that a failure can be seen again.
    pub(crate) fn from_environment() -> Self {
        let given = std::env::var("PORTHOLE_SEED").ok().filter(|seed| !seed.is_empty());
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").subsec_nanos();
        let seed =
            given.map_or_else(|| now().into(), |seed| seed.parse().expect("PORTHOLE_SEED is a number"));
        println!("PORTHOLE_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).expect("a small number");
        usize::try_from(self.throw() % limit).expect("below a usize")
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
