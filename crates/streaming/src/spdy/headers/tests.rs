//! Against blocks that zlib itself has made, with the dictionary and without.

use super::*;

/// One stream of four blocks, as zlib 1.3 writes it at level 9 with a flush after each.
const BY_ZLIB: [(&[(&str, &str)], &str); 4] = [
    (&[("streamtype", "error")], "78f9e3c6a7c202a62346703a2b294a4dcc851625aca9a08006000000ffff"),
    (&[("streamtype", "stdin")], "c22e555c02cc2e00000000ffff"),
    (&[], "02321800000000ffff"),
    (
        &[("port", "8080"), ("requestid", "0"), ("streamtype", "data")],
        "02255748c95d04ce2416061606409ab30812d399a01cc068806100a8984a04000000ffff",
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().map(|c| c.to_digit(16).expect("hexadecimal")).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    Headers::new(pairs.iter().copied())
}

#[test]
fn what_zlib_writes_is_read() {
    let mut inflater = Inflater::default();
    for (pairs, hex) in BY_ZLIB {
        assert_eq!(inflater.read(&bytes(hex)), Ok(headers(pairs)));
    }
}

#[test]
fn a_stream_without_the_dictionary_is_read_too() {
    let block = bytes("78da626060606400e244109104000000ffff");
    assert_eq!(Inflater::default().read(&block), Ok(headers(&[("a", "b")])));
}

#[test]
fn what_is_written_is_read_block_after_block() {
    let (mut deflater, mut inflater) = (Deflater::default(), Inflater::default());
    let long = "x".repeat(60_000);
    for pairs in [&[("streamtype", "stdin")][..], &[], &[("long", &long), ("short", "")]] {
        assert_eq!(inflater.read(&deflater.write(&headers(pairs))), Ok(headers(pairs)));
    }
}

/// Readers such as Go's hand out a stored block's bytes only when a further block has begun, and take the end of the
/// frame for an error that stays: the flush must be there.
#[test]
fn what_is_written_ends_with_a_flush_and_begins_with_the_dictionary() {
    let mut deflater = Deflater::default();
    let first = deflater.write(&Headers::default());
    assert_eq!(first[..], bytes("78bbe3c6a7c2000400fbff00000000000000ffff"));
    assert_eq!(u16::from_be_bytes([first[0], first[1]]) % 31, 0, "zlib's own check of its head");
    let second = deflater.write(&Headers::default());
    assert_eq!(second[..], bytes("000400fbff00000000000000ffff"));
}

#[test]
fn a_small_block_that_grows_without_end_is_refused() {
    let mut zlib = flate2::Compress::new(flate2::Compression::best(), true);
    let mut out = Vec::with_capacity(4096);
    zlib.compress_vec(&[0; 1 << 20], &mut out, flate2::FlushCompress::Sync).expect("compressed");
    assert!(out.len() < 2048, "{}", out.len());
    assert_eq!(Inflater::default().read(&out), Err(SpdyError::HeadersTooLong));
}

#[test]
fn what_is_no_block_is_refused() {
    let stored = |block: &[u8]| {
        let mut out = bytes("78bbe3c6a7c200");
        let length = u16::try_from(block.len()).expect("short");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
        out.extend_from_slice(&FLUSH);
        out
    };
    let table: &[(&[u8], SpdyError)] = &[
        (b"", SpdyError::HeaderBlock),
        (b"\0\0\0\x01", SpdyError::HeaderBlock),
        (b"\0\0\0\x01\xff\xff\xff\xff", SpdyError::HeaderBlock),
        (b"\xff\xff\xff\xff", SpdyError::HeaderBlock),
        (b"\0\0\0\0more", SpdyError::HeaderBlock),
        (b"\0\0\0\x01\0\0\0\x01A\0\0\0\0", SpdyError::HeaderName),
        (b"\0\0\0\x01\0\0\0\0\0\0\0\0", SpdyError::HeaderName),
        (b"\0\0\0\x02\0\0\0\x01a\0\0\0\0\0\0\0\x01a\0\0\0\0", SpdyError::HeaderName),
        (b"\0\0\0\x01\0\0\0\x01\xff\0\0\0\0", SpdyError::HeaderText),
    ];
    for (block, error) in table {
        assert_eq!(Inflater::default().read(&stored(block)).as_ref(), Err(error), "{block:?}");
    }
    for garbage in [&b"garbage"[..], b"\x78\xbb\0\0\0\0\0", b"\x78\xf9\x01\x02\x03\x04"] {
        assert!(Inflater::default().read(garbage).is_err(), "{garbage:?}");
    }
}
