//! What is remembered of a layer's names is foreign, too: few bytes of an archive can name deep directories that are
//! all to be made, described and reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use os::tree::{Attributes, Descriptor};

use super::error::UnpackError;

/// What an entry of a map costs beside its bytes, about.
const ENTRY: usize = 96;

/// How much of this may still come, of one layer or of all that share it.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: usize,
    left: Arc<AtomicUsize>,
    /// Through this one, and not through others that share what is left.
    taken: AtomicUsize,
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(limit: usize) -> Budget {
        Budget { limit, left: Arc::new(AtomicUsize::new(limit)), taken: AtomicUsize::new(0) }
    }

    /// The same budget in the hands of somebody whose work may come to nothing.
    pub(crate) fn shared(&self) -> Budget {
        Budget { limit: self.limit, left: self.left.clone(), taken: AtomicUsize::new(0) }
    }

    /// Takes what a new entry of so many bytes costs.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), UnpackError> {
        let cost = bytes.saturating_add(ENTRY);
        let rest = |left: usize| left.checked_sub(cost);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        taken.map_err(|_| UnpackError::Names { limit: self.limit })?;
        self.taken.fetch_add(cost, Ordering::Relaxed);
        Ok(())
    }

    /// Leaves to others what was taken through this one: nothing is remembered of it any more.
    pub(crate) fn give_back(&self) {
        self.left.fetch_add(self.taken.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// What attributes cost beyond their place in an entry.
pub(super) fn weight(attributes: &Attributes) -> usize {
    let extended = attributes.extended.iter().map(|(name, value)| name.len() + value.len() + ENTRY);
    let descriptor = match &attributes.descriptor {
        Some(Descriptor::SelfRelative(bytes)) => bytes.len(),
        Some(Descriptor::Text(text)) => text.len(),
        None => 0,
    };
    extended.sum::<usize>() + descriptor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_does_not_come_back() {
        let budget = Budget::new(3 * ENTRY);
        assert!(budget.take(ENTRY).is_ok());
        let error = budget.take(1).unwrap_err().to_string();
        assert!(error.contains("more than is left of 288 bytes"), "{error}");
        assert!(budget.take(usize::MAX).is_err());
        assert!(budget.take(0).is_ok());
    }

    #[test]
    fn only_what_was_taken_through_the_same_hand_is_given_back() {
        let budget = Budget::new(4 * ENTRY);
        let [kept, failed] = [budget.shared(), budget.shared()];
        assert!(kept.take(ENTRY).is_ok() && failed.take(ENTRY).is_ok());
        assert!(failed.take(0).is_err(), "they share one");
        failed.give_back();
        failed.give_back();
        assert!(failed.take(ENTRY).is_ok() && budget.take(0).is_err());
    }

    #[test]
    fn attributes_weigh_what_they_hold() {
        let plain = Attributes { mode: Some(0o755), ..Attributes::default() };
        assert_eq!(weight(&plain), 0);
        let heavy = Attributes {
            extended: vec![("user.a".into(), vec![0; 1000])],
            descriptor: Some(Descriptor::Text("D:".to_owned())),
            ..plain
        };
        assert_eq!(weight(&heavy), 1000 + 6 + ENTRY + 2);
    }
}
