//! What is refused before a session begins.

use std::time::Duration;

use http::StatusCode;
use streaming::client::{ClientError, Dialled, Forwarder, Remote};
use streaming::protocol::{Agreed, Version};
use streaming::{Config, PortForwardRequest, RequestError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::house::{House, LONG, NEW, all, streams};

async fn status(url: &str, how: Agreed) -> Option<StatusCode> {
    let dialled = Dialled::to(url).await.expect("reached");
    match Remote::open(dialled, streams("o"), how).await {
        Ok(mut remote) => {
            all(&mut remote).await;
            None
        }
        Err(ClientError::Refused { status, .. }) => Some(status),
        Err(e) => panic!("{e:?}"),
    }
}

/// Says something by hand and gives the answer's first line.
async fn raw(house: &House, text: &str) -> String {
    let url = house.exec_url("exit 0", "o");
    let (address, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("reached");
    let _ = stream.write_all(text.replace("PATH", &format!("/{path}")).as_bytes()).await;
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(LONG, stream.read_to_end(&mut answer)).await.expect("in time");
    String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_works_once() {
    let house = House::open().await;
    for how in NEW {
        let url = house.exec_url("exit 0", "o");
        assert_eq!(status(&url, how).await, None);
        assert_eq!(status(&url, how).await, Some(StatusCode::NOT_FOUND));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_nobody_gave_or_that_has_expired_does_not_work() {
    // Expired as soon as it is given: no clock has to be waited for.
    let house = House::with(Config { token_life: Duration::ZERO, ..Config::default() }).await;
    let url = house.exec_url("exit 0", "o");
    assert_eq!(status(&url, NEW[0]).await, Some(StatusCode::NOT_FOUND));
    let (base, _) = url.rsplit_once('/').expect("a path");
    assert_eq!(status(&format!("{base}/AAAAAAAAAAAAAAAAAAAAAA"), NEW[0]).await, Some(StatusCode::NOT_FOUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_tokens_than_allowed_are_a_typed_error() {
    let house = House::with(Config { most_tokens: 1, ..Config::default() }).await;
    let request = PortForwardRequest { pod: "pod".to_owned(), ports: vec![] };
    house.tickets.port_forward(request.clone()).expect("the first");
    assert_eq!(house.tickets.port_forward(request), Err(RequestError::TooMany(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn more_sessions_than_allowed_are_refused() {
    let house = House::with(Config { most_sessions: 1, ..Config::default() }).await;
    let _remote = house.exec("sleep", "io", NEW[0]).await;
    let url = house.exec_url("exit 0", "o");
    assert_eq!(status(&url, NEW[1]).await, Some(StatusCode::TOO_MANY_REQUESTS));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_a_process_forwards_no_ports() {
    let house = House::open().await;
    let url = house.exec_url("exit 0", "o").replace("/exec/", "/portforward/");
    let refused = Forwarder::open(Dialled::to(&url).await.expect("reached"), Agreed::Forward).await;
    assert!(
        matches!(refused, Err(ClientError::Refused { status: StatusCode::NOT_FOUND, .. })),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn protocols_that_the_server_has_not_are_refused() {
    let house = House::open().await;
    let table = [
        ("PATH", "", "400"),
        ("PATH", "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n", "400"),
        ("PATH", "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v9\r\n", "403"),
        ("PATH", "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n", "400"),
        ("PATH", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "400"),
        ("/nowhere/at/all", "", "404"),
        ("/", "", "404"),
        ("/exec/", "", "404"),
    ];
    for (path, headers, code) in table {
        let answer =
            raw(&house, &format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n"))
                .await;
        assert_eq!(answer.split(' ').nth(1), Some(code), "{path} {headers:?}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_are_refused() {
    let house = House::open().await;
    for method in ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"] {
        let answer =
            raw(&house, &format!("{method} PATH HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(answer.split(' ').nth(1), Some("405"), "{method}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_long_or_none_at_all_is_refused() {
    let house = House::open().await;
    let long = "x".repeat(64 << 10);
    let answer = raw(&house, &format!("GET PATH HTTP/1.1\r\nHost: h\r\nX-Long: {long}\r\n\r\n")).await;
    assert_eq!(answer.split(' ').nth(1), Some("431"), "{answer}");
    let answer = raw(&house, "nonsense\r\n\r\n").await;
    assert_eq!(answer.split(' ').nth(1), Some("400"), "{answer}");
    // And the server lives on.
    assert_eq!(status(&house.exec_url("exit 0", "o"), Agreed::Command(Version::V4)).await, None);
}
