//! Which line a byte is on. Only the table needs it, so it is worked out when first asked.

use std::cell::OnceCell;

#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: OnceCell<Vec<usize>>,
}

// === impl Lines ===

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, starts: OnceCell::new() }
    }

    /// Counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        let starts = self.starts.get_or_init(|| {
            let breaks = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            breaks.map(|(at, _)| at + 1).collect()
        });
        starts.partition_point(|start| *start <= offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new("a\nb\n\nc");
        assert_eq!([0, 1, 2, 3, 4, 5, 99].map(|at| lines.line(at)), [1, 1, 2, 2, 3, 4, 4]);
    }
}
