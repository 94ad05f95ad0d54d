//! Window sizes: JSON documents one after the other, cut anywhere.

use serde::Deserialize;

use crate::session::Size;

/// A size is thirty bytes; whoever sends more without ending it sends none.
const LONGEST: usize = 1024;

/// Reads sizes as their bytes come. After the first byte that is no size it reads nothing more.
#[derive(Debug, Default)]
pub struct Resizes {
    unread: Vec<u8>,
    broken: bool,
}

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "Width", alias = "width", default)]
    width: u16,
    #[serde(rename = "Height", alias = "height", default)]
    height: u16,
}

// === impl Resizes ===

impl Resizes {
    /// The last size that is now complete: those before it are over.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Size> {
        let mut last = None;
        // In small steps, so that many sizes at once are not mistaken for one that never ends.
        for piece in bytes.chunks(LONGEST) {
            if !self.broken {
                self.unread.extend_from_slice(piece);
                last = self.read().or(last);
            }
        }
        last
    }

    /// A size is flat, so a brace ends it. (A JSON parser alone would take some cuts inside a number for mistakes.)
    fn read(&mut self) -> Option<Size> {
        let (mut last, mut read) = (None, 0);
        while let Some(end) = self.unread[read..].iter().position(|byte| *byte == b'}') {
            let Ok(document) = serde_json::from_slice::<Document>(&self.unread[read..=read + end]) else {
                self.broken = true;
                break;
            };
            last = Some(Size { columns: document.width, rows: document.height });
            read += end + 1;
        }
        self.unread.drain(..read);
        self.broken |= self.unread.len() > LONGEST;
        if self.broken {
            self.unread = Vec::new();
        }
        last
    }
}

/// What a client sends.
pub fn document(size: Size) -> Vec<u8> {
    format!("{{\"Width\":{},\"Height\":{}}}\n", size.columns, size.rows).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(columns: u16, rows: u16) -> Size {
        Size { columns, rows }
    }

    #[test]
    fn sizes_are_read_however_they_are_cut() {
        let bytes = [document(size(80, 24)), document(size(100, 50))].concat();
        for cut in 0..=bytes.len() {
            let mut resizes = Resizes::default();
            let (first, second) = bytes.split_at(cut);
            let last = [first, second].into_iter().filter_map(|part| resizes.push(part)).last();
            assert_eq!(last, Some(size(100, 50)), "cut at {cut}");
        }
        let mut resizes = Resizes::default();
        let one_by_one: Vec<_> = bytes.iter().filter_map(|byte| resizes.push(&[*byte])).collect();
        assert_eq!(one_by_one, [size(80, 24), size(100, 50)]);
    }

    #[test]
    fn what_is_no_size_ends_the_reading() {
        for bytes in [&b"7"[..], b"{\"Width\":70000,\"Height\":1}", b"x", b"{\"Width\":-1}"] {
            let mut resizes = Resizes::default();
            assert_eq!(resizes.push(bytes), None);
            assert_eq!(resizes.push(&document(size(1, 1))), None, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_number_that_is_cut_in_the_middle_is_still_one() {
        let bytes = b"{\"Other\":-1.5e3,\"Width\":80,\"Height\":24}";
        for cut in 0..=bytes.len() {
            let mut resizes = Resizes::default();
            let (first, second) = bytes.split_at(cut);
            assert_eq!(
                resizes.push(first).or_else(|| resizes.push(second)),
                Some(size(80, 24)),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn an_endless_document_is_not_kept() {
        let mut resizes = Resizes::default();
        resizes.push(b"{\"a\":\"");
        for _ in 0..100 {
            resizes.push(&[b'x'; 1000]);
        }
        assert!(resizes.unread.capacity() <= 4 * LONGEST);
    }

    #[test]
    fn many_sizes_in_one_piece_are_many() {
        let bytes: Vec<u8> = (1..=500).flat_map(|n| document(size(n, n))).collect();
        assert_eq!(Resizes::default().push(&bytes), Some(size(500, 500)));
    }
}
