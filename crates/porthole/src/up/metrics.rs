//! The counters of `porthole up` as a file, for a collector that reads text files: `up` has no port to ask at.

use std::path::PathBuf;

use runtime::failure::Counters;

use super::say;

#[derive(Debug)]
pub(super) struct MetricsFile {
    path: Option<PathBuf>,
    /// What is in the file now.
    written: String,
}

// === impl MetricsFile ===

impl MetricsFile {
    pub(super) fn new(path: Option<PathBuf>) -> MetricsFile {
        MetricsFile { path, written: String::new() }
    }

    /// Writes the file if something changed. One that cannot be written is said once: pods go on without it.
    pub(super) fn write(&mut self, counters: &Counters) {
        let Some(path) = &self.path else { return };
        let text = counters.text();
        if text == self.written {
            return;
        }
        match os::file::write_durable(path, text.as_bytes()) {
            Ok(()) => self.written = text,
            Err(e) => {
                say(&format!("warning: write {}: {e}", path.display()));
                self.path = None;
            }
        }
    }
}
