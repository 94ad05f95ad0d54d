//! What only unix sockets have: modes, peers, stale files, path limits.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use os::channel::{Connection, Listener, endpoint};

use crate::channel::pair;
use crate::keeper::{as_nobody, as_root};

#[test]
fn a_path_too_long_for_a_socket_address_works() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a-directory-with-a-long-name".repeat(5)).join("and-another-one".repeat(4));
    std::fs::create_dir_all(&deep).unwrap();
    let (mut server, mut client) = pair(&endpoint(&deep, "admin"));
    client.write_all(b"x").unwrap();
    assert_eq!(server.read(&mut [0; 4]).unwrap(), 1);
    assert!(deep.join("admin.sock").exists());
}

#[test]
fn a_dead_listeners_socket_is_replaced_and_a_file_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let place = endpoint(dir.path(), "a");
    drop(UnixListener::bind(dir.path().join("a.sock")).unwrap());
    let listener = Listener::bind(&place).unwrap();
    let connected = std::thread::spawn(move || listener.accept().map(drop));
    Connection::connect(&place).unwrap();
    connected.join().unwrap().unwrap();
    std::fs::write(dir.path().join("b.sock"), "precious").unwrap();
    assert!(Listener::bind(&endpoint(dir.path(), "b")).is_err());
    assert_eq!(std::fs::read_to_string(dir.path().join("b.sock")).unwrap(), "precious");
}

#[test]
fn a_socket_is_for_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let _listener = Listener::bind(&endpoint(dir.path(), "a")).unwrap();
    let mode = std::fs::metadata(dir.path().join("a.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// The file modes are opened on purpose: the peer's account is what must decide.
#[test]
fn a_stranger_is_dropped_and_the_next_friend_is_served() {
    let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let place = endpoint(dir.path(), "a");
    let listener = Listener::bind(&place).unwrap();
    let socket = dir.path().join("a.sock");
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).unwrap();
    let serving = std::thread::spawn(move || {
        let mut connection = listener.accept().unwrap();
        let mut hello = [0; 6];
        connection.read_exact(&mut hello).unwrap();
        connection.write_all(b"welcome\n").unwrap();
    });
    let stranger = as_nobody().arg("connect").arg(&socket).output().unwrap();
    assert_eq!((stranger.status.code(), stranger.stdout.trim_ascii()), (Some(1), &b""[..]));
    let friend = as_root().arg("connect").arg(&socket).output().unwrap();
    assert_eq!((friend.status.code(), friend.stdout.trim_ascii()), (Some(0), &b"welcome"[..]));
    serving.join().unwrap();
}
