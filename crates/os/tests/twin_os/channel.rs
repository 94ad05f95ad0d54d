//! The channel between our own programs, both ends in one process.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use os::channel::{Connection, Endpoint, Listener, endpoint};

/// The two ends, connected.
pub(crate) fn pair(endpoint: &Endpoint) -> (Connection, Connection) {
    let listener = Listener::bind(endpoint).unwrap();
    let accepting = std::thread::spawn(move || listener.accept().unwrap());
    let client = Connection::connect(endpoint).unwrap();
    (accepting.join().unwrap(), client)
}

#[test]
fn words_go_both_ways() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, mut client) = pair(&endpoint(dir.path(), "a"));
    client.write_all(b"ping").unwrap();
    let mut heard = [0; 4];
    server.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"ping");
    server.write_all(b"pong").unwrap();
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"pong");
}

#[test]
fn a_thread_that_waits_for_words_does_not_hold_up_a_thread_that_writes() {
    let dir = tempfile::tempdir().unwrap();
    let (server, client) = pair(&endpoint(dir.path(), "a"));
    let reader = client.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut heard = [0; 5];
        (&reader).read_exact(&mut heard).unwrap();
        heard
    });
    // Far more than any buffer, so that the writer really is in the middle of writing.
    let writing =
        std::thread::spawn(move || (&client).write_all(&vec![7; 4 << 20]).map(|()| client).unwrap());
    let mut received = vec![0; 4 << 20];
    (&server).read_exact(&mut received).unwrap();
    assert!(received.iter().all(|byte| *byte == 7));
    (&server).write_all(b"there").unwrap();
    assert_eq!(&reading.join().unwrap(), b"there");
    drop(writing.join().unwrap());
}

#[test]
fn hanging_up_is_the_end_for_the_peer_and_for_our_own_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, client) = pair(&endpoint(dir.path(), "a"));
    let reader = client.try_clone().unwrap();
    let reading = std::thread::spawn(move || (&reader).read(&mut [0; 1]).unwrap());
    (&client).write_all(b"last words").unwrap();
    client.shutdown().unwrap();
    assert_eq!(reading.join().unwrap(), 0);
    let mut heard = String::new();
    server.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "last words");
}

#[test]
fn a_dropped_end_is_the_end_for_the_peer() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, client) = pair(&endpoint(dir.path(), "a"));
    drop(client);
    assert_eq!(server.read(&mut [0; 1]).unwrap(), 0);
    assert!(server.write_all(&vec![0; 1 << 20]).is_err());
}

#[test]
fn waiting_for_words_can_time_out() {
    let dir = tempfile::tempdir().unwrap();
    let (mut server, mut client) = pair(&endpoint(dir.path(), "a"));
    client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let started = Instant::now();
    let error = client.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(started.elapsed() >= Duration::from_millis(40));
    server.write_all(b"x").unwrap();
    assert_eq!(client.read(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn an_endpoint_is_bound_once_and_free_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let place = endpoint(dir.path(), "a");
    let first = Listener::bind(&place).unwrap();
    assert!(Listener::bind(&place).is_err());
    drop(first);
    drop(Listener::bind(&place).unwrap());
}

#[test]
fn one_listener_serves_many() {
    let dir = tempfile::tempdir().unwrap();
    let place = endpoint(dir.path(), "a");
    let listener = Listener::bind(&place).unwrap();
    let clients: Vec<_> = (0..8u8)
        .map(|number| {
            let place = place.clone();
            std::thread::spawn(move || {
                let mut connection = Connection::connect(&place).unwrap();
                connection.write_all(&[number]).unwrap();
                let mut echoed = [0];
                connection.read_exact(&mut echoed).unwrap();
                assert_eq!(echoed, [number]);
            })
        })
        .collect();
    for _ in 0..8 {
        let mut server = listener.accept().unwrap();
        let mut word = [0];
        server.read_exact(&mut word).unwrap();
        server.write_all(&word).unwrap();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn nobody_listening_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Connection::connect(&endpoint(dir.path(), "nobody")).is_err());
}

#[test]
fn endpoints_of_two_installations_differ_and_survive_being_written_down() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = endpoint(one.path(), "admin");
    assert_ne!(place, endpoint(two.path(), "admin"));
    assert_ne!(place, endpoint(one.path(), "cri"));
    assert_eq!(place.to_string().parse::<Endpoint>().unwrap(), place);
}

/// Where an administrator's pipes go; an ordinary account on Windows may not make any there.
#[cfg(windows)]
#[test]
fn a_name_below_the_protected_prefix_is_for_administrators() {
    let name = format!(r"\\.\pipe\ProtectedPrefix\Administrators\porthole-test-{}", std::process::id());
    let place: Endpoint = name.parse().unwrap();
    if os::elevated() || os::host::facts().unwrap().emulator.is_some() {
        let (mut server, mut client) = pair(&place);
        client.write_all(b"x").unwrap();
        assert_eq!(server.read(&mut [0; 2]).unwrap(), 1);
    } else {
        assert!(Listener::bind(&place).is_err());
    }
}
