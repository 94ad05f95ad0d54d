use proptest::prelude::*;

use super::*;

fn parsed(mut bytes: &[u8]) -> (Vec<(Channel, Vec<u8>)>, ChunkError) {
    let (mut chunks, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match read(&mut bytes, &mut buffer) {
            Ok(channel) => chunks.push((channel, buffer.clone())),
            Err(e) => return (chunks, e),
        }
    }
}

#[test]
fn the_bytes_of_a_chunk_are_channel_length_content() {
    let mut out = Vec::new();
    write(&mut out, Channel::Stderr, b"ab").unwrap();
    write(&mut out, Channel::Stdin, b"").unwrap();
    write_control(&mut out, &Control::Resize(Size { columns: 80, rows: 25 })).unwrap();
    assert_eq!(out, b"\x02\x02\0\0\0ab\x00\0\0\0\0\x03\x23\0\0\0{\"Resize\":{\"columns\":80,\"rows\":25}}");
}

#[test]
fn an_end_is_read_back_with_what_older_holders_do_not_say() {
    let end = ExecEnd { code: 137, signal: Some(9), timed_out: true, message: Some("m".into()) };
    let json = serde_json::to_string(&Control::Ended(end.clone())).unwrap();
    assert_eq!(json, r#"{"Ended":{"code":137,"signal":9,"timed_out":true,"message":"m"}}"#);
    assert_eq!(serde_json::from_str::<Control>(&json).unwrap(), Control::Ended(end));
    let short = serde_json::from_str::<Control>(r#"{"Ended":{"code":3,"colour":"red"}}"#).unwrap();
    assert_eq!(short, Control::Ended(ExecEnd { code: 3, ..ExecEnd::default() }));
    assert_eq!(serde_json::to_string(&Control::Detached).unwrap(), "\"Detached\"");
}

#[test]
fn long_writes_become_several_chunks() {
    let mut out = Vec::new();
    let bytes: Vec<u8> = (0..=250).cycle().take(LONGEST_CHUNK + 7).collect();
    write(&mut out, Channel::Stdout, &bytes).unwrap();
    let (chunks, end) = parsed(&out);
    assert!(matches!(end, ChunkError::Closed));
    assert_eq!(chunks.iter().map(|(_, part)| part.len()).collect::<Vec<_>>(), [LONGEST_CHUNK, 7]);
    assert_eq!(chunks.concat_bytes(), bytes);
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(Channel, Vec<u8>)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, part)| part.clone()).collect()
    }
}

#[test]
fn what_is_no_chunk_is_named() {
    let too_long = u32::try_from(LONGEST_CHUNK).unwrap() + 1;
    let head = [&[1][..], &too_long.to_le_bytes()].concat();
    assert!(matches!(parsed(&head).1, ChunkError::TooLong(n) if n == too_long));
    assert_eq!(parsed(b"\x04\0\0\0\0").1.to_string(), "a chunk for channel 4, and there are only 0 to 3");
    for cut in 1..7 {
        assert!(matches!(parsed(&b"\x01\x02\0\0\0ab"[..cut]).1, ChunkError::Io(_)), "{cut}");
    }
    assert!(matches!(parsed(b"").1, ChunkError::Closed));
}

#[test]
fn a_length_alone_makes_nobody_allocate_more_than_a_chunk() {
    let mut buffer = Vec::new();
    drop(read(&mut &b"\x01\xff\xff\xff\xff"[..], &mut buffer));
    assert_eq!(buffer.capacity(), 0);
}

proptest! {
    #[test]
    fn foreign_bytes_never_panic_and_never_grow(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for (_, part) in parsed(&bytes).0 {
            prop_assert!(part.len() <= bytes.len());
        }
    }

    #[test]
    fn what_is_written_is_read(
        sent in proptest::collection::vec((0u8..4, proptest::collection::vec(any::<u8>(), 0..200)), 0..20)
    ) {
        let sent: Vec<_> = sent.into_iter().map(|(n, bytes)| (Channel::numbered(n).unwrap(), bytes)).collect();
        let mut out = Vec::new();
        for (channel, bytes) in &sent {
            write(&mut out, *channel, bytes).unwrap();
        }
        let (chunks, end) = parsed(&out);
        prop_assert_eq!(chunks, sent);
        prop_assert!(matches!(end, ChunkError::Closed));
    }
}
