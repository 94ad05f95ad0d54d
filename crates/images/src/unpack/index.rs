//! Where the members of a tar file are, read in place: bodies are leapt over, and headers are as bounded as in layers.

use std::io::{BufReader, Read, Seek};

use super::Limits;
use super::error::UnpackError;
use super::members::{Kind, Reader};

/// A member that holds something or leads to one that does.
#[derive(Debug)]
pub(crate) struct Indexed {
    pub(crate) name: String,
    pub(crate) at: At,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    File { start: u64, size: u64 },
    Symlink(String),
    HardLink(String),
}

/// Reads them one after the other.
pub(crate) struct Index<F>(Reader<BufReader<F>>);

// === impl Index ===

impl<F: Read + Seek> Index<F> {
    /// Of a file at its start.
    pub(crate) fn new(file: F) -> Index<F> {
        Index(Reader::new(BufReader::new(file), Limits::default()))
    }

    /// The next one, or `None` at the end. One that goes on beyond the end of the file is there, as it says.
    pub(crate) fn next(&mut self) -> Result<Option<Indexed>, UnpackError> {
        while let Some(member) = self.0.next()? {
            let at = match member.kind {
                Kind::File { size, segments: None } => At::File { start: self.0.leap()?, size },
                Kind::Symlink { to, .. } => At::Symlink(text(&to)),
                Kind::HardLink { to } => At::HardLink(text(&to)),
                Kind::File { segments: Some(_), .. } | Kind::Directory | Kind::Node(_) => continue,
            };
            return Ok(Some(Indexed { name: text(&member.name), at }));
        }
        Ok(None)
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, SeekFrom, Write};

    use tar::{EntryType, Header};

    use super::*;

    fn header(kind: EntryType, name: &str, size: u64) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_path(name).unwrap();
        header.set_size(size);
        header.set_cksum();
        header
    }

    fn all(tar: impl Read + Seek) -> Result<Vec<(String, At)>, UnpackError> {
        let (mut index, mut found) = (Index::new(tar), Vec::new());
        while let Some(Indexed { name, at }) = index.next()? {
            found.push((name, at));
        }
        Ok(found)
    }

    #[test]
    fn members_are_found_where_they_are() {
        let mut tar = tar::Builder::new(Vec::new());
        let long = ["directory"; 20].join("/");
        tar.append_pax_extensions([("size", b"700".as_slice())]).unwrap();
        // Its own header cannot say it, as that of a file of more than eight gigabytes.
        let mut first = header(EntryType::Regular, "first", 0).as_bytes().to_vec();
        first.resize(512 + 1024, b'1');
        tar.get_mut().extend(first);
        tar.append_data(&mut header(EntryType::Regular, "x", 3), &long, &b"two"[..]).unwrap();
        tar.append_link(&mut header(EntryType::Symlink, "x", 0), "link", "first").unwrap();
        tar.append_link(&mut header(EntryType::Link, "x", 0), "hard", "first").unwrap();
        let found = all(Cursor::new(tar.into_inner().unwrap())).unwrap();
        assert_eq!(found[0], ("first".into(), At::File { start: 3 * 512, size: 700 }));
        assert!(found[1].0 == long && matches!(found[1].1, At::File { size: 3, .. }), "{found:?}");
        assert_eq!(found[2], ("link".into(), At::Symlink("first".into())));
        assert_eq!(found[3], ("hard".into(), At::HardLink("first".into())));
    }

    /// Nothing of twenty gigabytes is on the disk, and nothing of them is read.
    #[test]
    fn a_header_of_any_size_is_refused_and_a_body_is_leapt_over() {
        const HUGE: u64 = 20 << 30;
        for (kind, refused) in [
            (EntryType::GNULongName, true),
            (EntryType::GNULongLink, true),
            (EntryType::XHeader, true),
            (EntryType::Regular, false),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            let mut first = header(kind, "first", 0);
            first.as_old_mut().size.copy_from_slice(&size_of_many(HUGE));
            first.set_cksum();
            file.write_all(first.as_bytes()).unwrap();
            file.seek(SeekFrom::Current(HUGE.cast_signed())).unwrap();
            file.write_all(header(EntryType::Regular, "second", 0).as_bytes()).unwrap();
            file.rewind().unwrap();
            match all(file) {
                Err(error) => {
                    assert!(refused && matches!(error, UnpackError::Long { .. }), "{kind:?}: {error}")
                }
                Ok(found) => {
                    assert!(!refused, "{kind:?}: {found:?}");
                    assert_eq!(found[0].1, At::File { start: 512, size: HUGE });
                    assert_eq!(found[1].0, "second");
                }
            }
        }
    }

    /// As GNU writes what does not fit into octal digits.
    fn size_of_many(size: u64) -> [u8; 12] {
        let mut field = [0; 12];
        field[0] = 0x80;
        field[4..].copy_from_slice(&size.to_be_bytes());
        field
    }
}
