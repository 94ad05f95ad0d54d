//! Who was found to be no good for a blob. A mirror may hold a damaged copy, or break wherever it is asked: then the
//! next one is asked before it. Nobody is left out for good, because the last one may be the only one; and who was found
//! wanting once is asked before one that was twice, or the first would be asked for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// By digest and the number of the endpoint.
#[derive(Debug, Default)]
pub(super) struct Trust(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    gave: BTreeSet<(String, usize)>,
    /// How often.
    doubted: BTreeMap<(String, usize), u32>,
}

// === impl Trust ===

impl Trust {
    /// It has this blob, and sends it.
    pub(super) fn gave(&self, digest: &str, endpoint: usize) {
        self.with(|known| known.gave.insert((digest.to_owned(), endpoint)));
    }

    /// It began to send and broke before it came anywhere.
    pub(super) fn broke(&self, digest: &str, endpoint: usize) {
        self.with(|known| known.doubt((digest.to_owned(), endpoint)));
    }

    /// What came is another blob: each that sent a part of it may be to blame.
    pub(super) fn damaged(&self, digest: &str) {
        self.with(|known| {
            let (theirs, others): (BTreeSet<_>, _) =
                std::mem::take(&mut known.gave).into_iter().partition(|(gave, _)| gave == digest);
            known.gave = others;
            theirs.into_iter().for_each(|each| known.doubt(each));
        });
    }

    /// How often it was found to be no good for this blob.
    pub(super) fn doubts(&self, digest: &str, endpoint: usize) -> u32 {
        self.with(|known| match known.doubted.is_empty() {
            true => 0,
            false => known.doubted.get(&(digest.to_owned(), endpoint)).copied().unwrap_or_default(),
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// === impl Known ===

impl Known {
    fn doubt(&mut self, which: (String, usize)) {
        let times = self.doubted.entry(which).or_default();
        *times = times.saturating_add(1);
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
        let doubts = |digest| [0, 1, 2].map(|at| trust.doubts(digest, at));
        assert_eq!((doubts("a"), doubts("b")), ([1, 0, 1], [0, 0, 0]));
        // Whoever sent the next one, and not the first again.
        trust.gave("a", 1);
        trust.broke("b", 1);
        trust.damaged("a");
        assert_eq!((doubts("a"), doubts("b")), ([1, 1, 1], [0, 1, 0]));
        // Now that all are doubted, the one that does it again is doubted more.
        trust.gave("a", 0);
        trust.damaged("a");
        assert_eq!((doubts("a"), doubts("b")), ([2, 1, 1], [0, 1, 0]));
    }
}
