use std::io::Write;

use flate2::{Compression, GzBuilder};
use proptest::prelude::*;

use super::*;

fn packed(builder: GzBuilder, bytes: &[u8]) -> Vec<u8> {
    let mut gzip = builder.write(Vec::new(), Compression::new(6));
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn plain(bytes: &[u8]) -> Vec<u8> {
    packed(GzBuilder::new(), bytes)
}

fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    Gzip::new(bytes).read_to_end(&mut all)?;
    Ok(all)
}

#[test]
fn members_one_after_the_other() {
    assert_eq!(read(&plain(b"hello")).unwrap(), b"hello");
    let all = [plain(b"one "), plain(b""), plain(b"two")].concat();
    assert_eq!(read(&all).unwrap(), b"one two");
}

#[test]
fn headers_with_everything_in_them() {
    let builder = || GzBuilder::new().filename("name").comment("a comment").extra(vec![7; 300]).mtime(9);
    assert_eq!(read(&packed(builder(), b"hello")).unwrap(), b"hello");
    // With a checksum of the header, which flate2 does not write.
    let mut bytes = packed(builder(), b"hello");
    bytes[3] |= HAS_SUM;
    let end = bytes.iter().rposition(|byte| *byte == b't').unwrap() + 2;
    let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
    bytes.splice(end..end, sum[..2].iter().copied());
    assert_eq!(read(&bytes).unwrap(), b"hello");
    bytes[end] ^= 1;
    assert!(read(&bytes).unwrap_err().to_string().contains("header"));
}

#[test]
fn what_is_refused() {
    let good = plain(b"hello");
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        read(&bytes).unwrap_err().kind()
    };
    let end = good.len();
    assert_eq!(with(&|bytes| bytes[end - 8] ^= 1), io::ErrorKind::InvalidData, "checksum");
    assert_eq!(with(&|bytes| bytes[end - 1] ^= 1), io::ErrorKind::InvalidData, "length");
    assert_eq!(with(&|bytes| bytes[3] |= 0x80), io::ErrorKind::InvalidData, "reserved flag");
    assert_eq!(with(&|bytes| bytes[2] = 7), io::ErrorKind::InvalidData, "method");
    assert_eq!(with(&|bytes| bytes.push(0)), io::ErrorKind::UnexpectedEof, "a part of a header");
    assert_eq!(with(&|bytes| bytes.extend([0; 20])), io::ErrorKind::InvalidData, "zeros at the end");
    for cut in 0..end {
        assert_eq!(with(&|bytes| bytes.truncate(cut)), io::ErrorKind::UnexpectedEof, "cut at {cut}");
    }
}

proptest! {
    /// Whatever flate2's own reader says, this one says, in pieces of any size.
    #[test]
    fn the_same_as_flate2(
        parts in prop::collection::vec(prop::collection::vec(0u8..4, 0..2000), 1..3),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        piece in 1usize..700,
    ) {
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| plain(part)).collect();
        for (at, change) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        let mut theirs = Vec::new();
        let their = flate2::bufread::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut theirs);
        let mut ours = Vec::new();
        let from = io::BufReader::with_capacity(piece, bytes.as_slice());
        let our = Gzip::new(from).read_to_end(&mut ours);
        prop_assert_eq!(our.is_ok(), their.is_ok());
        if our.is_ok() {
            prop_assert_eq!(ours, theirs);
        }
    }
}
