//! The one thing the threads of a pod wait on together: has somebody asked for the end?

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct StopFlag {
    grace: Mutex<Option<Duration>>,
    raised: Condvar,
}

// === impl StopFlag ===

impl StopFlag {
    pub(super) fn raise(&self, grace: Duration) {
        *self.grace.lock().unwrap_or_else(PoisonError::into_inner) = Some(grace);
        self.raised.notify_all();
    }

    /// The grace period of the stop, if one was asked for.
    pub(super) fn grace(&self) -> Option<Duration> {
        *self.grace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_raised(&self) -> bool {
        self.grace().is_some()
    }

    /// Waits for the stop or the time, whichever comes first; true for the stop.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let guard = self.grace.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.raised.wait_timeout_while(guard, time, |grace| grace.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_ends_every_wait_with_its_grace() {
        let flag = StopFlag::default();
        assert!(!flag.is_raised() && !flag.wait(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| flag.wait(Duration::from_secs(60)));
            flag.raise(Duration::from_secs(7));
            assert!(waiting.join().unwrap());
        });
        assert_eq!(flag.grace(), Some(Duration::from_secs(7)));
        assert!(flag.wait(Duration::ZERO));
    }
}
