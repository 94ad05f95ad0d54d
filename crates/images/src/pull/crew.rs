//! Work done by several threads, of which the first that fails ends the others.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::plan::MOST_NAMES;
use crate::progress::Caller;
use crate::unpack::Budget;

/// What all have in common who work at one pull: whether everybody is to stop, because the caller gave up or somebody's
/// work failed, and what the names of their layers may take.
pub(crate) struct Halt<'a> {
    caller: Caller<'a>,
    called: AtomicBool,
    names: Budget,
}

// === impl Halt ===

impl<'a> Halt<'a> {
    pub(crate) fn new(caller: Caller<'a>) -> Halt<'a> {
        Halt::within(MOST_NAMES, caller)
    }

    /// The same with so much memory for names.
    pub(super) fn within(names: usize, caller: Caller<'a>) -> Halt<'a> {
        Halt { caller, called: AtomicBool::new(false), names: Budget::new(names) }
    }

    /// Once the caller has given up, it stays so: it may say it once only.
    pub(crate) fn is_called(&self) -> bool {
        if self.called.load(Ordering::Relaxed) {
            return true;
        }
        let gave_up = (self.caller.gave_up)();
        if gave_up {
            self.call();
        }
        gave_up
    }

    pub(crate) fn call(&self) {
        self.called.store(true, Ordering::Relaxed);
    }

    pub(super) fn names(&self) -> &Budget {
        &self.names
    }
}

/// Does all the work, so many pieces at once, in the order given. After a failure nothing new is begun and what is
/// under way hears of it through `halt`; the answer is that first failure, not what followed from it.
pub(crate) fn all<T: Send, E: Send>(
    work: impl IntoIterator<Item = T>,
    at_once: usize,
    halt: &Halt<'_>,
    each: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let left: Mutex<VecDeque<T>> = Mutex::new(work.into_iter().collect());
    let first: Mutex<Option<E>> = Mutex::new(None);
    let hands = at_once.min(lock(&left).len());
    let toil = || {
        while let Some(piece) = next(&left, &first) {
            if let Err(error) = each(piece) {
                lock(&first).get_or_insert(error);
                halt.call();
            }
        }
    };
    std::thread::scope(|scope| {
        // One of the hands is ours.
        (1..hands).for_each(|_| drop(scope.spawn(toil)));
        toil();
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

fn next<T, E>(left: &Mutex<VecDeque<T>>, first: &Mutex<Option<E>>) -> Option<T> {
    if lock(first).is_some() {
        return None;
    }
    lock(left).pop_front()
}

/// A panic of another thread ends the scope anyway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn no_more_than_asked_for_work_at_once_and_all_is_done() {
        let (now, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            Ok::<(), ()>(())
        };
        all(0..100, 4, &Halt::new(Caller::silent()), work).unwrap();
        assert_eq!(done.into_inner(), 100);
        assert!(most.into_inner() <= 4);
        all(0..0, 4, &Halt::new(Caller::silent()), |_: i32| Err(())).unwrap();
    }

    #[test]
    fn the_first_failure_ends_the_rest_and_is_the_answer() {
        let halt = Halt::new(Caller::silent());
        let begun = AtomicUsize::new(0);
        let work = |piece: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            if piece == 1 {
                return Err("broken");
            }
            while !halt.is_called() {
                std::thread::yield_now();
            }
            Err("halted")
        };
        assert_eq!(all(0..100, 3, &halt, work), Err("broken"));
        assert!(begun.into_inner() <= 3);
    }

    #[test]
    fn a_caller_need_give_up_only_once() {
        let asked = AtomicUsize::new(0);
        let gave_up = || asked.fetch_add(1, Ordering::SeqCst) == 0;
        let halt = Halt::new(Caller { tell: &|_| {}, gave_up: &gave_up });
        assert!(halt.is_called() && halt.is_called());
    }
}
