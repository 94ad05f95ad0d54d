//! Locks on real files, among threads; among processes they are tested where they are used.

use std::sync::atomic::{AtomicU32, Ordering};

use os::lock::{Held, Mode};

#[test]
fn many_may_share_and_one_excludes_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    assert!(!Held::is_taken(&path).unwrap() && !path.exists(), "asking makes no file");
    let shared = [0, 1].map(|_| Held::take(&path, Mode::Shared).unwrap());
    assert!(Held::try_take(&path, Mode::Exclusive).unwrap().is_none());
    assert!(Held::is_taken(&path).unwrap());
    drop(shared);
    assert!(!Held::is_taken(&path).unwrap());
    let alone = Held::try_take(&path, Mode::Exclusive).unwrap().expect("free");
    assert!(Held::try_take(&path, Mode::Shared).unwrap().is_none());
    drop(alone);
    assert!(Held::try_take(&path, Mode::Shared).unwrap().is_some());
}

/// Whoever removes a lock file while others wait for it must not let two of them in.
#[test]
fn a_lock_whose_file_is_removed_each_time_lets_in_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let (inside, entered) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let held = Held::take(&path, Mode::Exclusive).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    entered.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    held.remove().unwrap();
                }
            });
        }
    });
    assert_eq!(entered.load(Ordering::SeqCst), 400);
    assert!(!path.exists());
}

#[test]
fn who_waits_for_the_end_of_a_lock_neither_makes_nor_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    Held::await_end(&path).unwrap();
    assert!(!path.exists(), "nobody had it");
    let held = Held::take(&path, Mode::Exclusive).unwrap();
    let ended = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let waiters = [0, 1].map(|_| {
            scope.spawn(|| {
                Held::await_end(&path).unwrap();
                assert_eq!(ended.load(Ordering::SeqCst), 1, "it has not ended");
            })
        });
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        ended.store(1, Ordering::SeqCst);
        held.remove().unwrap();
    });
    assert!(Held::try_take(&path, Mode::Exclusive).unwrap().is_some());
}
