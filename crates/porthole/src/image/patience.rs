//! Ctrl-C while something long is under way: it ends at the next good moment instead of in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Exit, Failure};

/// Whether the user still waits.
#[derive(Debug, Clone, Default)]
pub(super) struct Patience(Arc<AtomicBool>);

// === impl Patience ===

impl Patience {
    /// From now on Ctrl-C ends what asks here, not the process.
    pub(super) fn watch() -> Result<Patience, Failure> {
        let interrupts = os::interrupt::interrupts().or_environment()?;
        let patience = Patience::default();
        let lost = Arc::clone(&patience.0);
        std::thread::spawn(move || {
            // Ends with the process.
            while interrupts.recv().is_ok() {
                lost.store(true, Ordering::Relaxed);
            }
        });
        Ok(patience)
    }

    pub(super) fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
