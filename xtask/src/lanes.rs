//! Work done side by side: as many pieces at once as there are lanes.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Begins the pieces in their order, each in the first lane that is free. The answers keep the order.
pub(crate) fn in_lanes<T: Sync, R: Send>(lanes: usize, all: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < all.len());
        std::iter::from_fn(take).map(|at| (at, one(&all[at]))).collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..lanes).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|e| resume_unwind(e)));
        joined.flatten().collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;

    #[test]
    fn every_piece_is_done_once_and_the_answers_keep_their_order() {
        let all: Vec<usize> = (0..23).collect();
        for lanes in [1, 2, 40] {
            assert_eq!(in_lanes(lanes, &all, |n| n * 2), all.iter().map(|n| n * 2).collect::<Vec<_>>());
        }
        assert_eq!(in_lanes(2, &[], |n: &usize| *n), Vec::<usize>::new());
    }

    #[test]
    fn two_lanes_work_at_the_same_time() {
        // Either waits for the other: one after the other they would wait for ever.
        let meeting = Barrier::new(2);
        assert_eq!(in_lanes(2, &[1, 2], |n| (meeting.wait(), *n).1), [1, 2]);
    }

    #[test]
    fn one_lane_does_one_thing_after_the_other() {
        let inside = Mutex::new(());
        let alone = |_: &u32| inside.try_lock().is_ok();
        assert_eq!(in_lanes(1, &[1, 2, 3], alone), [true; 3]);
    }
}
