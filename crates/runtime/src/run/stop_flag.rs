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

    /// Has those who wait look again at what else they wait for.
    pub(super) fn wake(&self) {
        // Taken so that nobody is between looking and waiting.
        drop(self.grace.lock().unwrap_or_else(PoisonError::into_inner));
        self.raised.notify_all();
    }

    /// Waits for the stop, the other reason or the time, whichever comes first; false for the time.
    pub(super) fn wait_or(&self, time: Duration, other: impl Fn() -> bool) -> bool {
        let guard = self.grace.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.raised.wait_timeout_while(guard, time, |grace| grace.is_none() && !other());
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_raised_flag_ends_every_wait_with_its_grace() {
        let flag = StopFlag::default();
        assert!(!flag.is_raised() && !flag.wait_or(Duration::from_millis(1), || false));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| flag.wait_or(Duration::from_secs(60), || false));
            flag.raise(Duration::from_secs(7));
            assert!(waiting.join().unwrap());
        });
        assert_eq!(flag.grace(), Some(Duration::from_secs(7)));
        assert!(flag.wait_or(Duration::ZERO, || false));
    }

    #[test]
    fn another_reason_ends_a_wait_when_somebody_says_so() {
        let (flag, over) = (StopFlag::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| flag.wait_or(Duration::from_secs(60), || over.load(Ordering::SeqCst)));
            over.store(true, Ordering::SeqCst);
            flag.wake();
            assert!(waiting.join().unwrap());
        });
        assert!(!flag.is_raised());
    }
}
