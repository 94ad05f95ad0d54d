//! Peers that do what no client does, by hand: frames made with the crate's own codec.

use bytes::BytesMut;
use streaming::spdy::{Decoder, Encoder, Frame, GoAwayStatus, Headers, Reset};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house::{House, LONG};

/// A connection that has been upgraded, and both codecs.
struct Hand {
    stream: TcpStream,
    encoder: Encoder,
    decoder: Decoder,
}

impl Hand {
    async fn of(house: &House, command: &str, letters: &str) -> Hand {
        let url = house.exec_url(command, letters);
        let (address, path) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
        let mut stream = TcpStream::connect(address).await.expect("reached");
        let head = format!(
            "POST /{path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
             X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.expect("an answer"));
        }
        assert!(answer.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&answer));
        Hand { stream, encoder: Encoder::default(), decoder: Decoder::default() }
    }

    async fn send(&mut self, frame: Frame) {
        let mut bytes = BytesMut::new();
        self.encoder.encode(&frame, &mut bytes);
        self.stream.write_all(&bytes).await.expect("sent");
    }

    async fn open(&mut self, id: u32, kind: &str) {
        let headers = Headers::new([("streamType", kind)]);
        self.send(Frame::SynStream {
            id,
            associated: 0,
            priority: 0,
            fin: false,
            unidirectional: false,
            headers,
        })
        .await;
    }

    /// The next frame; none at the end.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.next_frame().expect("valid frames") {
                return Some(frame);
            }
            let read = tokio::time::timeout(LONG, self.stream.read_buf(self.decoder.input()))
                .await
                .expect("in time");
            if read.unwrap_or(0) == 0 {
                return None;
            }
        }
    }
}

fn reply(id: u32) -> Option<Frame> {
    Some(Frame::SynReply { id, fin: false, headers: Headers::default() })
}

fn data(id: u32, fin: bool, text: &'static str) -> Option<Frame> {
    Some(Frame::Data { id, fin, bytes: text.into() })
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn a_session_says_its_frames_in_the_order_that_clients_wait_for() {
    let house = House::open().await;
    let mut hand = Hand::of(&house, "say", "oe").await;
    for (id, kind) in [(1, "error"), (3, "stdout"), (5, "stderr")] {
        hand.open(id, kind).await;
        assert_eq!(hand.next().await, reply(id), "each is answered before the next is asked for");
    }
    assert_eq!(hand.next().await, data(3, false, "to stdout"));
    assert_eq!(hand.next().await, data(5, false, "to stderr"));
    assert_eq!(hand.next().await, data(3, true, ""));
    assert_eq!(hand.next().await, data(5, true, ""));
    assert_eq!(hand.next().await, data(1, false, r#"{"metadata":{},"status":"Success"}"#));
    assert_eq!(hand.next().await, data(1, true, ""));
    assert_eq!(hand.next().await, Some(Frame::GoAway { last: 5, status: GoAwayStatus::OK }));
    hand.stream.shutdown().await.expect("closed");
    assert_eq!(hand.next().await, None, "the server closes after the client");
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_and_what_means_nothing_is_passed_over() {
    let house = House::open().await;
    let mut hand = Hand::of(&house, "sleep", "o").await;
    hand.send(Frame::Settings(vec![(7, 65536)])).await;
    hand.send(Frame::WindowUpdate { id: 0, delta: 1000 }).await;
    hand.send(Frame::Data { id: 99, fin: true, bytes: "to nobody".into() }).await;
    hand.send(Frame::Rst { id: 97, status: Reset::CANCEL }).await;
    hand.send(Frame::Ping(2)).await;
    hand.send(Frame::Ping(7)).await;
    assert_eq!(hand.next().await, Some(Frame::Ping(7)), "only the client's own are sent back");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_cannot_be_are_reset() {
    let house = House::open().await;
    let mut hand = Hand::of(&house, "sleep", "io").await;
    for (id, kind, status) in [
        (3, "nonsense", Reset::REFUSED_STREAM),
        (1, "error", Reset::PROTOCOL_ERROR),
        (4, "error", Reset::PROTOCOL_ERROR),
        (5, "stderr", Reset::REFUSED_STREAM),
    ] {
        hand.open(id, kind).await;
        assert_eq!(hand.next().await, Some(Frame::Rst { id, status }), "{kind}");
    }
    for (id, kind) in [(7, "error"), (9, "stdin"), (11, "stdout")] {
        hand.open(id, kind).await;
        assert_eq!(hand.next().await, reply(id));
    }
    house.until_running(1).await;
    for id in (13..200).step_by(2) {
        hand.open(id, "stdin").await;
        assert_eq!(
            hand.next().await,
            Some(Frame::Rst { id, status: Reset::REFUSED_STREAM }),
            "one of each is enough"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_the_client_resets_does_not_end_the_program() {
    let house = House::open().await;
    let mut hand = Hand::of(&house, "cat", "io").await;
    for (id, kind) in [(1, "error"), (3, "stdin"), (5, "stdout")] {
        hand.open(id, kind).await;
        assert_eq!(hand.next().await, reply(id));
    }
    hand.send(Frame::Rst { id: 5, status: Reset::CANCEL }).await;
    hand.send(Frame::Data { id: 3, fin: true, bytes: "unheard".into() }).await;
    assert_eq!(hand.next().await, data(1, false, r#"{"metadata":{},"status":"Success"}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_ends_the_connection_and_nothing_else() {
    let house = House::open().await;
    for nonsense in [
        &b"\x80\x02\0\x06\0\0\0\x04\0\0\0\x01"[..],
        b"\x80\x03\0\x01\0\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
    ] {
        let mut hand = Hand::of(&house, "sleep", "io").await;
        for (id, kind) in [(1, "error"), (3, "stdin"), (5, "stdout")] {
            hand.open(id, kind).await;
            assert_eq!(hand.next().await, reply(id));
        }
        house.until_running(1).await;
        hand.stream.write_all(nonsense).await.expect("sent");
        if nonsense[0] == 0x80 {
            let goodbye = Frame::GoAway { last: 5, status: GoAwayStatus::PROTOCOL_ERROR };
            assert_eq!(hand.next().await, Some(goodbye));
        } else {
            // Taken for data of a stream that is not there; the client then leaves.
            drop(hand);
        }
        house.until_running(0).await;
    }
}
