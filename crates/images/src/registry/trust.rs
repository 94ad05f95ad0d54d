//! Who was found to be no good for a blob. A mirror may hold a damaged copy, or break wherever it is asked: then the
//! next one is asked before it. Nobody is left out for good, because the last one may be the only one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// By digest and the number of the endpoint.
#[derive(Debug, Default)]
pub(super) struct Trust(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    gave: BTreeSet<(String, usize)>,
    doubted: BTreeSet<(String, usize)>,
}

// === impl Trust ===

impl Trust {
    /// It has this blob, and sends it.
    pub(super) fn gave(&self, digest: &str, endpoint: usize) {
        self.with(|known| known.gave.insert((digest.to_owned(), endpoint)));
    }

    /// It began to send and broke before it came anywhere.
    pub(super) fn broke(&self, digest: &str, endpoint: usize) {
        self.with(|known| known.doubted.insert((digest.to_owned(), endpoint)));
    }

    /// What came is another blob: each that sent a part of it may be to blame.
    pub(super) fn damaged(&self, digest: &str) {
        self.with(|known| {
            let (theirs, others) =
                std::mem::take(&mut known.gave).into_iter().partition(|(gave, _)| gave == digest);
            known.gave = others;
            let mut theirs: BTreeSet<_> = theirs;
            known.doubted.append(&mut theirs);
        });
    }

    pub(super) fn doubts(&self, digest: &str, endpoint: usize) -> bool {
        self.with(|known| !known.doubted.is_empty() && known.doubted.contains(&(digest.to_owned(), endpoint)))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_are_doubted_who_sent_what_was_damaged() {
        let trust = Trust::default();
        trust.gave("a", 0);
        trust.gave("b", 0);
        trust.gave("a", 2);
        trust.damaged("a");
        let doubted = |digest| (0..3).filter(|at| trust.doubts(digest, *at)).collect::<Vec<_>>();
        assert_eq!((doubted("a"), doubted("b")), (vec![0, 2], vec![]));
        // Whoever sent the next one, and not the first again.
        trust.gave("a", 1);
        trust.broke("b", 1);
        trust.damaged("a");
        assert_eq!((doubted("a"), doubted("b")), (vec![0, 1, 2], vec![1]));
    }
}
