//! Why a layer was refused. Who unpacks knows which layer it was; these name the entry.

use std::io;
use std::path::PathBuf;

use super::place::MOST_LINKS;
use super::unwrapped;

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the layer is {found}: wanted {wanted}")]
    Compression { found: &'static str, wanted: &'static str },
    #[error("the layer cannot be read after {after:?}")]
    Read { after: String, source: io::Error },
    #[error("the header after {after:?} is not one of a tar file: {what}")]
    Header { after: String, what: &'static str },
    #[error("{name:?} would leave the image")]
    Escapes { name: String },
    #[error("{name:?} is a name this system cannot keep apart from another: {why}")]
    Name { name: String, why: &'static str },
    #[error("{name:?} and {other:?} differ only in case, which is one file on this system")]
    Case { name: String, other: String },
    #[error("{name:?} passes through more than {MOST_LINKS} links")]
    Links { name: String },
    #[error(
        "{name:?} passes through a link to {text:?}, which this system would not look for in the image: {why}"
    )]
    LinkText { name: String, text: String, why: &'static str },
    #[error("{name:?} is a hard link to {to:?}, which is not there")]
    LinkTarget { name: String, to: String },
    #[error("{name:?} is {kind}, which an image cannot bring")]
    Kind { name: String, kind: String },
    #[error("{name:?} has a sparse map that does not fit its data")]
    Sparse { name: String },
    #[error("{name:?} is longer than {limit} bytes")]
    Long { name: String, limit: usize },
    #[error("{name:?} lies deeper than {limit} directories")]
    Deep { name: String, limit: usize },
    #[error("the names of the layer need more than is left of {limit} bytes of memory")]
    Names { limit: usize },
    #[error("the layer has more than {limit} entries")]
    Entries { limit: u64 },
    #[error("the layer is larger than {limit} bytes when it is unpacked")]
    Bytes { limit: u64 },
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
}

// === impl UnpackError ===

impl UnpackError {
    pub(super) fn after_the_end(error: io::Error) -> UnpackError {
        unwrapped(error, |source| UnpackError::Read { after: "the end of the archive".to_owned(), source })
    }

    /// To travel through readers.
    pub(crate) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }
}

/// A name for a message: readable, no longer than a message may be, and nothing that a terminal obeys.
pub(super) fn shown(name: &[u8]) -> String {
    const MOST: usize = 200;
    let text = obeyed_by_none(&String::from_utf8_lossy(name));
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What is said of an entry that was not refused. An attribute's name is the layer's own word, too.
pub(super) fn warning(name: &[u8], what: &str) -> String {
    format!("{}: {}", shown(name), obeyed_by_none(what))
}

fn obeyed_by_none(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_message_moves_no_cursor_and_ends_no_line() {
        assert_eq!(shown(b"bin/\xc3\xa4"), "bin/ä");
        assert_eq!(
            warning(b"\x1b]52;c;eA==\x07\nporthole: pulled", "user.\x1b[2J\u{9b}: no"),
            "\u{fffd}]52;c;eA==\u{fffd}\u{fffd}porthole: pulled: user.\u{fffd}[2J\u{fffd}: no"
        );
        assert_eq!(shown(&[b'x'; 300]).chars().count(), 201);
    }
}
