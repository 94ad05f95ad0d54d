//! A YAML stream cut into documents before any of them is parsed, so that one that is broken costs only itself.
//!
//! A line that begins with `---` or `...` is a boundary wherever it stands: YAML forbids it inside every scalar.

/// One document's text and where it begins in the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'t> {
    pub(super) at: usize,
    pub(super) text: &'t str,
}

/// The documents from `at` on; comments and directives before the first `---` belong to the document after it.
#[derive(Debug, Clone)]
pub(super) struct Parts<'t> {
    text: &'t str,
    at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Begin,
    End,
    /// Nothing, a comment or a directive.
    Blank,
    Content,
}

// === impl Parts ===

impl<'t> Parts<'t> {
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    fn part(&mut self, from: usize, to: usize) -> Part<'t> {
        self.at = to;
        Part { at: from, text: &self.text[from..to] }
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        let from = self.at;
        let (mut at, mut begun) = (from, false);
        while at < self.text.len() {
            let (line, next) = line(self.text, at);
            match line {
                Line::Begin if begun => return Some(self.part(from, at)),
                Line::Begin | Line::Content => begun = true,
                Line::End if begun => return Some(self.part(from, next)),
                Line::End | Line::Blank => {}
            }
            at = next;
        }
        let last = self.part(from, at);
        begun.then_some(last)
    }
}

fn line(text: &str, at: usize) -> (Line, usize) {
    let rest = &text.as_bytes()[at..];
    let end = rest.iter().position(|byte| *byte == b'\n');
    let kind = match rest {
        [b'-', b'-', b'-', after @ ..] if ends_word(after) => Line::Begin,
        [b'.', b'.', b'.', after @ ..] if ends_word(after) => Line::End,
        [b'%', ..] => Line::Blank,
        _ => {
            let first = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
            if matches!(first, None | Some(b'#' | b'\n')) { Line::Blank } else { Line::Content }
        }
    };
    (kind, end.map_or(text.len(), |end| at + end + 1))
}

fn ends_word(after: &[u8]) -> bool {
    matches!(after.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        Parts::new(text, 0).map(|part| part.text).collect()
    }

    #[test]
    fn lines_of_dashes_are_boundaries() {
        assert_eq!(parts("a: 1\n---\nb: 2\n"), ["a: 1\n", "---\nb: 2\n"]);
        assert_eq!(parts("a: |\n  ---\n  x\n"), ["a: |\n  ---\n  x\n"]);
        assert_eq!(parts("a: ----\n"), ["a: ----\n"]);
        assert_eq!(parts("--- {a: 1}\r\n---\r\nb: 2"), ["--- {a: 1}\r\n", "---\r\nb: 2"]);
    }

    #[test]
    fn what_precedes_the_first_document_is_none() {
        assert_eq!(parts("# hi\n\n%YAML 1.1\n---\na: 1\n"), ["# hi\n\n%YAML 1.1\n---\na: 1\n"]);
        assert_eq!(parts("# only\n"), [""; 0]);
        assert_eq!(parts("a: 1\n...\n# later\n---\nb: 2\n"), ["a: 1\n...\n", "# later\n---\nb: 2\n"]);
    }

    #[test]
    fn an_empty_document_counts() {
        assert_eq!(parts("---\n---\na: 1\n---\n"), ["---\n", "---\na: 1\n", "---\n"]);
        assert_eq!(Parts::new("xx---\na", 2).next().map(|part| part.at), Some(2));
    }
}
