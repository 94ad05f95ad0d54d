//! A stream of bytes, cut into log entries.

use super::LONGEST_PART;

/// Cuts a stream into log entries: whole lines, or parts of [`LONGEST_PART`] bytes.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    pending: Vec<u8>,
}

impl LineBuffer {
    pub(super) fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(&[u8], bool)) {
        while !bytes.is_empty() {
            let room = LONGEST_PART - self.pending.len();
            let window = &bytes[..bytes.len().min(room)];
            if let Some(end) = window.iter().position(|b| *b == b'\n') {
                self.pending.extend_from_slice(&window[..end]);
                bytes = &bytes[end + 1..];
                self.emit(&mut emit, false);
            } else {
                self.pending.extend_from_slice(window);
                bytes = &bytes[window.len()..];
                if self.pending.len() == LONGEST_PART {
                    self.emit(&mut emit, true);
                }
            }
        }
    }

    /// What stands without a line end when the stream ends is a part, as readers expect.
    pub(super) fn finish(&mut self, mut emit: impl FnMut(&[u8], bool)) {
        if !self.pending.is_empty() {
            self.emit(&mut emit, true);
        }
    }

    fn emit(&mut self, emit: &mut impl FnMut(&[u8], bool), partial: bool) {
        emit(&self.pending, partial);
        self.pending.clear();
        // A burst of long lines must not stay in the holder's memory for ever.
        self.pending.shrink_to(1024);
    }
}
