//! Round trips, any cut, and what is refused.

use bytes::BufMut;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::spdy::{Encoder, Headers};

fn decode(bytes: &[u8]) -> Result<Vec<Frame>, SpdyError> {
    decode_cut(bytes, &[])
}

/// Feeds the bytes in the given pieces and joins the pieces of data frames again.
fn decode_cut(bytes: &[u8], cuts: &[usize]) -> Result<Vec<Frame>, SpdyError> {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut from = 0;
    for to in cuts {
        decoder.input().put_slice(&bytes[from..to]);
        from = to;
        while let Some(frame) = decoder.next_frame()? {
            frames.push(frame);
        }
    }
    Ok(join(frames))
}

fn join(frames: Vec<Frame>) -> Vec<Frame> {
    let mut joined: Vec<Frame> = Vec::new();
    for frame in frames {
        match (joined.last_mut(), frame) {
            (
                Some(Frame::Data { id, fin, bytes }),
                Frame::Data { id: more_id, fin: more_fin, bytes: more },
            ) if *id == more_id && !*fin => {
                *bytes = [&bytes[..], &more].concat().into();
                *fin = more_fin;
            }
            (_, frame) => joined.push(frame),
        }
    }
    joined
}

fn encode(frames: &[Frame]) -> BytesMut {
    let mut encoder = Encoder::default();
    let mut out = BytesMut::new();
    frames.iter().for_each(|frame| encoder.encode(frame, &mut out));
    out
}

fn id() -> impl Strategy<Value = u32> {
    1..=STREAM_BITS
}

fn headers() -> impl Strategy<Value = Headers> {
    let pairs = proptest::collection::btree_map("[a-z][a-z0-9-]{0,11}", "[ -~]{0,40}", 0..5);
    pairs.prop_map(|pairs| Headers(pairs.into_iter().collect()))
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        (id(), 0..=STREAM_BITS, 0..8u8, any::<bool>(), any::<bool>(), headers()).prop_map(
            |(id, associated, priority, fin, unidirectional, headers)| {
                Frame::SynStream { id, associated, priority, fin, unidirectional, headers }
            }
        ),
        (id(), any::<bool>(), headers()).prop_map(|(id, fin, headers)| Frame::SynReply { id, fin, headers }),
        (id(), any::<bool>(), headers()).prop_map(|(id, fin, headers)| Frame::Headers { id, fin, headers }),
        (id(), 1..12u32).prop_map(|(id, status)| Frame::Rst { id, status: Reset(status) }),
        vec((0..0x0100_0000u32, any::<u32>()), 0..5).prop_map(Frame::Settings),
        (1..=u32::MAX).prop_map(Frame::Ping),
        (0..=STREAM_BITS, 0..3u32)
            .prop_map(|(last, status)| Frame::GoAway { last, status: GoAwayStatus(status) }),
        (0..=STREAM_BITS, 0..=STREAM_BITS).prop_map(|(id, delta)| Frame::WindowUpdate { id, delta }),
        (id(), any::<bool>(), vec(any::<u8>(), 0..300)).prop_map(|(id, fin, bytes)| Frame::Data {
            id,
            fin,
            bytes: bytes.into()
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_is_cut(frames in vec(frame(), 0..12), cuts in vec(any::<usize>(), 0..20)) {
        prop_assert_eq!(decode_cut(&encode(&frames), &cuts), Ok(join(frames)));
    }

    #[test]
    fn no_bytes_make_it_panic_or_keep_much(bytes in vec(any::<u8>(), 0..600)) {
        let mut decoder = Decoder::default();
        decoder.input().put_slice(&bytes);
        while let Ok(Some(_)) = decoder.next_frame() {}
        prop_assert!(decoder.input().len() <= bytes.len());
    }
}

#[test]
fn frames_have_the_drafts_own_shape() {
    let table: &[(Frame, &[u8])] = &[
        (Frame::Ping(1), b"\x80\x03\0\x06\0\0\0\x04\0\0\0\x01"),
        (Frame::Rst { id: 5, status: Reset::CANCEL }, b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x05\0\0\0\x05"),
        (Frame::GoAway { last: 7, status: GoAwayStatus::OK }, b"\x80\x03\0\x07\0\0\0\x08\0\0\0\x07\0\0\0\0"),
        (Frame::WindowUpdate { id: 1, delta: 9 }, b"\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\0\0\0\x09"),
        (Frame::Settings(vec![(7, 65536)]), b"\x80\x03\0\x04\0\0\0\x0c\0\0\0\x01\0\0\0\x07\0\x01\0\0"),
        (
            Frame::Data { id: 3, fin: true, bytes: Bytes::from_static(b"hi") },
            b"\0\0\0\x03\x01\0\0\x02hi",
        ),
        (
            Frame::SynReply { id: 1, fin: false, headers: Headers::default() },
            b"\x80\x03\0\x02\0\0\0\x18\0\0\0\x01\x78\xbb\xe3\xc6\xa7\xc2\0\x04\0\xfb\xff\0\0\0\0\0\0\0\xff\xff",
        ),
    ];
    for (frame, bytes) in table {
        assert_eq!(encode(std::slice::from_ref(frame)), bytes, "{frame:?}");
        assert_eq!(decode(bytes), Ok(vec![frame.clone()]));
    }
}

/// As moby/spdystream sends it for `streamType: error`: priority 0, headers deflated with the dictionary.
#[test]
fn a_stream_that_go_opens_is_read() {
    let mut bytes = b"\x80\x03\0\x01\0\0\0\x28\0\0\0\x01\0\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(
        b"\x78\xf9\xe3\xc6\xa7\xc2\x02\xa6\x23\x46\x70\x3a\x2b\x29\x4a\x4d\xcc\x85\x16\x25",
    );
    bytes.extend_from_slice(b"\xac\xa9\xa0\x80\x06\x00\x00\x00\xff\xff");
    let headers = Headers::new([("streamType", "error")]);
    let expected =
        Frame::SynStream { id: 1, associated: 0, priority: 0, fin: false, unidirectional: false, headers };
    assert_eq!(decode(&bytes), Ok(vec![expected]));
}

#[test]
fn a_long_data_frame_comes_in_pieces_and_ends_once() {
    let mut decoder = Decoder::default();
    decoder.input().put_slice(b"\0\0\0\x01\x01\xff\xff\xff");
    let (mut total, mut ends) = (0, 0);
    for _ in 0..(16 << 20) / 65536 {
        let rest = ((1 << 24) - 1 - total).min(65536);
        decoder.input().put_slice(&vec![7; rest]);
        while let Some(frame) = decoder.next_frame().expect("valid") {
            let Frame::Data { id: 1, fin, bytes } = frame else { panic!("{frame:?}") };
            total += bytes.len();
            ends += usize::from(fin);
        }
        assert!(decoder.input().is_empty(), "nothing is kept");
    }
    assert_eq!((total, ends), ((1 << 24) - 1, 1));
}

/// The pieces that come out when as much is read each time as the decoder wants, which is always there.
fn pieces(mut sent: &[u8], most: usize) -> Vec<usize> {
    let mut decoder = Decoder::default();
    let mut lengths = Vec::new();
    while !sent.is_empty() {
        let (read, rest) = sent.split_at(decoder.wanted(most).min(sent.len()));
        decoder.input().put_slice(read);
        sent = rest;
        while let Some(Frame::Data { bytes, .. }) = decoder.next_frame().expect("valid") {
            lengths.push(bytes.len());
        }
    }
    lengths
}

#[test]
fn long_frames_are_not_cut_where_a_read_ends() {
    let frame = |length| Frame::Data { id: 1, fin: false, bytes: vec![7; length].into() };
    let long = encode(&vec![frame(32 << 10); 20]);
    // The first is cut, before its length is known.
    assert_eq!(pieces(&long, 32 << 10), [vec![(32 << 10) - HEAD, HEAD], vec![32 << 10; 19]].concat());
    // Longer ones than may be read come in as few pieces as may be.
    assert_eq!(pieces(&encode(&vec![frame(100_000); 3]), 32 << 10).len(), 3 * 4);
    // Shorter ones come several at once.
    assert_eq!(pieces(&encode(&vec![frame(8 << 10); 4]), 32 << 10).len(), 4 + 1);
    let short = encode(&vec![frame(92); 4000]);
    assert!(pieces(&short, 32 << 10).len() < 4000 + short.len() / (32 << 10) + 1);
    assert_eq!(pieces(&short, 32 << 10).iter().sum::<usize>(), 92 * 4000);
}

#[test]
fn an_unknown_kind_is_passed_over_without_being_kept() {
    let mut decoder = Decoder::default();
    decoder.input().put_slice(b"\x80\x03\0\x0b\0\x10\0\0");
    for _ in 0..16 {
        decoder.input().put_slice(&[0; 65536]);
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.input().is_empty());
    }
    decoder.input().put_slice(&encode(&[Frame::Ping(3)]));
    assert_eq!(decoder.next_frame(), Ok(Some(Frame::Ping(3))));
    assert_eq!(decode(b"\x80\x03\0\x0b\0\0\0\0\x80\x03\0\x06\0\0\0\x04\0\0\0\x01"), Ok(vec![Frame::Ping(1)]));
}

#[test]
fn what_no_peer_should_send_is_refused() {
    let table: &[(&[u8], SpdyError)] = &[
        (b"\x80\x02\0\x06\0\0\0\x04", SpdyError::Version(2)),
        (b"\xff\xff\0\x06\0\0\0\x04", SpdyError::Version(0x7fff)),
        (b"\0\0\0\0\0\0\0\0", SpdyError::StreamZero),
        (b"\x80\x03\0\x01\0\xff\xff\xff", SpdyError::Length { kind: 1, length: 0x00ff_ffff }),
        (b"\x80\x03\0\x01\0\0\0\x04\0\0\0\x01", SpdyError::Length { kind: 1, length: 4 }),
        (b"\x80\x03\0\x06\0\0\0\x04\0\0\0\0", SpdyError::NumberZero),
        (b"\x80\x03\0\x06\0\0\0\x05\0\0\0\x01\0", SpdyError::Length { kind: 6, length: 5 }),
        (b"\x80\x03\0\x03\0\0\0\x08\0\0\0\x01\0\0\0\0", SpdyError::NumberZero),
        (b"\x80\x03\0\x03\0\0\0\x08\0\0\0\0\0\0\0\x01", SpdyError::StreamZero),
        (b"\x80\x03\0\x07\0\0\0\x04\0\0\0\0", SpdyError::Length { kind: 7, length: 4 }),
        (b"\x80\x03\0\x04\0\0\0\x04\0\0\0\x01", SpdyError::Settings { said: 1, found: 0 }),
        (b"\x80\x03\0\x04\0\0\0\x04\xff\xff\xff\xff", SpdyError::Settings { said: u32::MAX, found: 0 }),
        (b"\x80\x03\0\x04\0\0\0\0", SpdyError::Length { kind: 4, length: 0 }),
    ];
    for (bytes, error) in table {
        assert_eq!(decode(bytes).as_ref(), Err(error), "{bytes:?}");
    }
}
