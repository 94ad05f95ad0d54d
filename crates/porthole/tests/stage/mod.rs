//! A stage on which porthole plays: this host, or Windows as Wine gives it. The same play on both.
//!
//! Everything that a play asserts about processes is seen from outside: from `/proc`, never from porthole.

mod host;
mod play;
pub(crate) mod plays;

pub(crate) use play::Stage;

use std::time::{Duration, Instant};

/// Long enough for a slow machine under load; a condition that holds ends the wait at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The repository's examples.
pub(crate) fn examples() -> std::path::PathBuf {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/porthole is two deep").join("examples")
}

/// Waits until the condition gives something.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
