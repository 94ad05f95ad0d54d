//! When a connection last heard or said something.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Milliseconds after the start.
    last: AtomicU64,
}

// === impl Clock ===

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { start: Instant::now(), last: AtomicU64::new(0) }
    }

    pub(crate) fn touch(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Returns once nothing has happened for so long.
    pub(crate) async fn idle(&self, limit: Duration) {
        loop {
            let end = self.start + Duration::from_millis(self.last.load(Ordering::Relaxed)) + limit;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_touched_is_not_idle() {
        let clock = Clock::new();
        let limit = Duration::from_millis(300);
        let begin = Instant::now();
        let touching = async {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                clock.touch();
            }
        };
        tokio::join!(touching, clock.idle(limit));
        assert!(begin.elapsed() >= Duration::from_millis(699), "{:?}", begin.elapsed());
    }
}
