//! How long to wait before a container is started again: as a kubelet does.
//!
//! At once after the first end, then 10 s, doubled each time up to 5 minutes; a container that ran for ten
//! minutes starts over.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);
const GOOD_RUN: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub struct Backoff {
    next: Duration,
}

// === impl Backoff ===

impl Backoff {
    /// The wait after a run of this length.
    pub fn after(&mut self, ran: Duration) -> Duration {
        if ran >= GOOD_RUN {
            self.next = Duration::ZERO;
        }
        let delay = self.next;
        self.next = if delay.is_zero() { FIRST } else { (delay * 2).min(LONGEST) };
        delay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_then_doubling_to_five_minutes() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..8).map(|_| backoff.after(Duration::from_secs(599)).as_secs()).collect();
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn a_good_run_starts_over() {
        let mut backoff = Backoff::default();
        for ran in [0, 0, 0] {
            backoff.after(Duration::from_secs(ran));
        }
        assert_eq!(backoff.after(GOOD_RUN), Duration::ZERO);
        assert_eq!(backoff.after(Duration::ZERO), FIRST);
    }
}
