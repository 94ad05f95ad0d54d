//! Moments out of a seed (xorshift): good enough to spread kills, the same on every machine.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Moments {
    pub(crate) seed: u64,
    state: u64,
}

// === impl Moments ===

impl Moments {
    /// From `PORTHOLE_SEED`, else from the clock.
    pub(crate) fn new() -> Moments {
        let given = std::env::var("PORTHOLE_SEED").ok().map(|text| text.parse().expect("a seed is a number"));
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").subsec_nanos();
        let seed = given.unwrap_or_else(|| u64::from(clock())).max(1);
        println!("PORTHOLE_SEED={seed}");
        Moments::of(seed)
    }

    pub(crate) fn of(seed: u64) -> Moments {
        Moments { seed, state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A moment before the limit.
    pub(crate) fn before(&mut self, limit: Duration) -> Duration {
        let limit = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.next() % limit)
    }
}
