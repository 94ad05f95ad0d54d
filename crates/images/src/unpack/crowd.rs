//! Whether there is a core to spare for a helper.
//!
//! A step in a thread of its own is done at the same time, but costs more: what one core has at hand, another one must
//! fetch. That pays as long as the other one has nothing to do. Where as many layers as cores are unpacked, everybody
//! does all steps of its own; with four layers on two cores that is a thirteenth less work.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The layers that are being unpacked, as far as this process knows, and the cores they have together.
#[derive(Debug)]
pub(crate) struct Crowd {
    cores: usize,
    layers: AtomicUsize,
}

/// One of the layers, until dropped.
pub(crate) struct One<'c>(&'c Crowd);

static HERE: LazyLock<Crowd> =
    LazyLock::new(|| Crowd::of(std::thread::available_parallelism().map_or(1, usize::from)));

// === impl Crowd ===

impl Crowd {
    /// That of this process.
    pub(crate) fn here() -> &'static Crowd {
        &HERE
    }

    pub(super) fn of(cores: usize) -> Crowd {
        Crowd { cores, layers: AtomicUsize::new(0) }
    }

    pub(crate) fn enter(&self) -> One<'_> {
        self.layers.fetch_add(1, Ordering::Relaxed);
        One(self)
    }

    /// Whether every core has a layer. It changes at any moment: nothing but speed may depend on it.
    pub(super) fn is_full(&self) -> bool {
        self.layers.load(Ordering::Relaxed) >= self.cores
    }
}

// === impl One ===

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.layers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_to_spare_while_there_are_fewer_layers_than_cores() {
        let crowd = Crowd::of(2);
        let first = crowd.enter();
        assert!(!crowd.is_full());
        let second = crowd.enter();
        assert!(crowd.is_full());
        drop(first);
        assert!(!crowd.is_full());
        drop(second);
        assert!(!crowd.is_full() && Crowd::of(0).is_full());
    }
}
