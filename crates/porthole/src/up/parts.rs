//! Lines of containers, put together again from the parts in which logs keep long ones.

use holder::log::{Entry, Stream};

/// What came of lines that have not ended.
#[derive(Debug, Default)]
pub(super) struct Parts {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// A line that is longer is shown in pieces: who never ends one must not fill the memory.
const LONGEST: usize = 1 << 20;

// === impl Parts ===

impl Parts {
    /// The line that this entry ends; nothing while more of it is to come.
    pub(super) fn line(&mut self, entry: &Entry<'_>) -> Option<Vec<u8>> {
        let begun = match entry.stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        begun.extend_from_slice(entry.text);
        (!entry.partial || begun.len() >= LONGEST).then(|| std::mem::take(begun))
    }

    /// What nobody will end any more.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = Vec<u8>> {
        let Parts { stdout, stderr } = std::mem::take(self);
        [stdout, stderr].into_iter().filter(|begun| !begun.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(parts: &mut Parts, text: &str) -> Option<String> {
        let line = parts.line(&Entry::parse(text.as_bytes()).expect("an entry"));
        line.map(|line| String::from_utf8(line).expect("text"))
    }

    #[test]
    fn a_line_in_parts_is_one_line_also_with_another_stream_between() {
        let mut parts = Parts::default();
        assert_eq!(line(&mut parts, "t stdout P ab"), None);
        assert_eq!(line(&mut parts, "t stderr F oh").as_deref(), Some("oh"));
        assert_eq!(line(&mut parts, "t stdout P cd"), None);
        assert_eq!(line(&mut parts, "t stdout F ").as_deref(), Some("abcd"));
        assert_eq!(line(&mut parts, "t stdout F ").as_deref(), Some(""));
        assert_eq!(parts.rest().count(), 0);
    }

    #[test]
    fn what_was_begun_is_shown_at_the_end() {
        let mut parts = Parts::default();
        assert_eq!(line(&mut parts, "t stderr P Password:"), None);
        assert_eq!(parts.rest().collect::<Vec<_>>(), [b"Password:"]);
        assert_eq!(parts.rest().count(), 0);
    }

    #[test]
    fn a_line_without_an_end_is_shown_in_pieces() {
        let mut parts = Parts::default();
        let part = "x".repeat(16 * 1024);
        let entries = (0..100).map(|_| line(&mut parts, &format!("t stdout P {part}")));
        let shown: Vec<_> = entries.flatten().map(|line| line.len()).collect();
        assert_eq!(shown, [LONGEST]);
    }
}
