//! Ports of a pod.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};

use streaming::PortForwardRequest;
use streaming::client::{Dialled, Forwarded, Forwarder};
use streaming::protocol::Agreed;

use crate::house::{House, LONG, echo_at_the_end, port, until};

const HOWS: [Agreed; 2] = [Agreed::Forward, Agreed::Tunnel];

async fn forwarder(house: &House, how: Agreed) -> Forwarder {
    let request = PortForwardRequest { pod: "pod".to_owned(), ports: vec![] };
    let url = house.tickets.port_forward(request).expect("a ticket");
    Forwarder::open(Dialled::to(&url).await.expect("reached"), how).await.expect("opened")
}

async fn rest(forwarded: &mut Forwarded) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(bytes) = tokio::time::timeout(LONG, forwarded.next()).await.expect("in time") {
        all.extend_from_slice(&bytes);
    }
    all
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn a_port_answers_after_the_clients_end() {
    let house = House::open().await;
    let port = port(echo_at_the_end);
    for how in HOWS {
        let forwarder = forwarder(&house, how).await;
        for text in ["first", "second"] {
            let mut forwarded = forwarder.connect(port).await.expect("opened");
            forwarded.write(text.as_bytes()).await.expect("taken");
            forwarded.finish().await.expect("taken");
            let answer = rest(&mut forwarded).await;
            assert_eq!(String::from_utf8_lossy(&answer), format!("{}:{text}", text.len()), "{how:?}");
            assert_eq!(forwarded.end().await, "", "{how:?}: no error");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_connections_share_one_and_carry_megabytes() {
    let house = House::open().await;
    let port = port(echo_at_the_end);
    for how in HOWS {
        let forwarder = forwarder(&house, how).await;
        let one = async |size: usize| {
            let mut forwarded = forwarder.connect(port).await.expect("opened");
            let bytes: Vec<u8> = (0..=255).cycle().take(size).collect();
            forwarded.write(&bytes).await.expect("taken");
            forwarded.finish().await.expect("taken");
            let answer = rest(&mut forwarded).await;
            let head = format!("{size}:");
            assert!(answer.starts_with(head.as_bytes()) && answer[head.len()..] == bytes, "{how:?} {size}");
        };
        tokio::join!(one(0), one(1), one(1 << 20), one(5 << 20), one(100), one(8 << 20));
    }
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn a_port_where_nobody_listens_is_told_and_the_others_go_on() {
    let house = House::open().await;
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let nobody = free.local_addr().expect("bound").port();
    drop(free);
    let echo = port(echo_at_the_end);
    for how in HOWS {
        let forwarder = forwarder(&house, how).await;
        let mut forwarded = forwarder.connect(nobody).await.expect("opened");
        assert_eq!(rest(&mut forwarded).await, b"");
        let text = forwarded.end().await;
        assert!(text.starts_with(&format!("error forwarding port {nobody} to pod pod: ")), "{how:?}: {text}");
        let mut forwarded = forwarder.connect(echo).await.expect("opened");
        forwarded.finish().await.expect("taken");
        assert_eq!(rest(&mut forwarded).await, b"0:", "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_ends_first_ends_the_connection() {
    let house = House::open().await;
    let port = port(|mut stream| {
        let _ = stream.write_all(b"goodbye");
    });
    for how in HOWS {
        let forwarder = forwarder(&house, how).await;
        let mut forwarded = forwarder.connect(port).await.expect("opened");
        assert_eq!(rest(&mut forwarded).await, b"goodbye");
        // Says nothing and never ends: the server ends it, and the error stream with it.
        let text = tokio::time::timeout(LONG, forwarded.end()).await.expect("in time");
        assert_eq!(text, "", "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_client_resets_is_closed_in_the_pod() {
    let house = House::open().await;
    let (closed, wait) = std::sync::mpsc::channel();
    let port = port(move |mut stream| {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let _ = stream.shutdown(Shutdown::Both);
        let _ = closed.send(all);
    });
    for how in HOWS {
        let forwarder = forwarder(&house, how).await;
        let forwarded = forwarder.connect(port).await.expect("opened");
        forwarded.write(b"half a wor").await.expect("taken");
        assert_eq!(forwarded.end().await, "", "{how:?}: a reset is no error");
        let mut seen = None;
        until("the pod to notice", || {
            seen = seen.take().or_else(|| wait.try_recv().ok());
            seen.is_some()
        })
        .await;
    }
}

mod channels {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;

    use super::*;

    /// The oldest way, by another's client: port number i on channels 2i and 2i + 1.
    #[tokio::test(flavor = "multi_thread")]
    async fn ports_on_channels_begin_with_their_number() {
        let house = House::open().await;
        let echo = port(|mut stream| {
            let mut bytes = [0; 5];
            if stream.read_exact(&mut bytes).is_ok() {
                let _ = stream.write_all(&bytes);
            }
        });
        let request = PortForwardRequest { pod: "pod".to_owned(), ports: vec![echo, echo] };
        let url = house.tickets.port_forward(request).expect("a ticket").replace("http://", "ws://");
        let mut request = url.as_str().into_client_request().expect("a URL");
        let protocol = http::HeaderValue::from_static("v4.channel.k8s.io");
        request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
        let address = url.trim_start_matches("ws://").split('/').next().expect("a host");
        let stream = tokio::net::TcpStream::connect(address).await.expect("reached");
        let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.expect("upgraded");
        let mut heard = vec![Vec::new(); 4];
        socket.send(Message::binary(&b"\x02hello"[..])).await.expect("sent");
        socket.send(Message::binary(&b"\x00world"[..])).await.expect("sent");
        loop {
            match tokio::time::timeout(LONG, socket.next()).await.expect("in time") {
                Some(Ok(Message::Binary(bytes))) => {
                    heard[usize::from(bytes[0])].extend_from_slice(&bytes[1..])
                }
                Some(Ok(Message::Close(_))) | None => break,
                other => panic!("{other:?}"),
            }
        }
        let number = echo.to_le_bytes();
        let expected = [
            [&number[..], b"world"].concat(),
            number.to_vec(),
            [&number[..], b"hello"].concat(),
            number.to_vec(),
        ];
        assert_eq!(heard, expected);
    }
}
