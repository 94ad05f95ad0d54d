//! Requests that wait for each other: how a test proves that a client makes them at once.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the first ones wait for the others. Clients give up later than that.
const PATIENCE: Duration = Duration::from_secs(9);

/// A number of requests of which none is answered before all have come.
#[derive(Debug, Clone)]
pub struct Meeting(Arc<State>);

#[derive(Debug)]
struct State {
    wanted: usize,
    come: Mutex<usize>,
    changed: Condvar,
}

// === impl Meeting ===

impl Meeting {
    pub(super) fn of(wanted: usize) -> Self {
        Self(Arc::new(State { wanted, come: Mutex::default(), changed: Condvar::new() }))
    }

    /// Waits for the others; whether they came.
    pub(in crate::registry) fn join(&self) -> bool {
        self.join_within(PATIENCE)
    }

    fn join_within(&self, patience: Duration) -> bool {
        let mut come = self.0.come.lock().unwrap_or_else(PoisonError::into_inner);
        *come += 1;
        self.0.changed.notify_all();
        let alone = |come: &mut usize| *come < self.0.wanted;
        let waited = self.0.changed.wait_timeout_while(come, patience, alone);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// A meeting is no other, however many are wanted there.
impl PartialEq for Meeting {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Meeting {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_come_wait_for_the_last_one() {
        let meeting = Meeting::of(3);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| meeting.join())).collect();
            assert!(threads.into_iter().all(|thread| thread.join().expect("no panic")));
        });
        assert!(meeting.join(), "who comes late need not wait");
    }

    #[test]
    fn who_stays_alone_is_told_so() {
        assert!(!Meeting::of(2).join_within(Duration::from_millis(1)));
    }
}
