use std::io::{Read, Write};
use std::sync::mpsc::channel;

use super::*;

/// A client at a door whose other side this test plays.
fn client_of(shared: &Shared, endpoint: &Endpoint) -> (Connection, Arc<Connection>, u64) {
    let listener = Listener::bind(endpoint).unwrap();
    let client = Connection::connect(endpoint).unwrap();
    let ours = Arc::new(listener.accept().unwrap());
    let number = shared.enter(&ours).unwrap();
    (client, ours, number)
}

#[test]
fn who_waits_for_an_answer_has_it_before_the_door_is_shut() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = os::channel::endpoint(dir.path(), "admin");
    let shared = Arc::new(Shared::default());
    let (mut client, ours, number) = client_of(&shared, &endpoint);
    shared.note(number, true);
    let server = Server { endpoint, shared: shared.clone(), thread: None };
    let (tell, told) = channel();
    let answering = shared.clone();
    let answer = thread::spawn(move || {
        // As long as it takes the end to begin.
        while !answering.stopping.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        tell.send(!ours.is_hung_up()).unwrap();
        (&*ours).write_all(b"done").unwrap();
        answering.note(number, false);
        // The end shuts the connection now, and is told that the client has left.
        assert_eq!((&*ours).read(&mut [0]).unwrap(), 0);
        answering.leave(number);
    });
    drop(server);
    answer.join().unwrap();
    assert!(told.recv().unwrap(), "it was cut off before its answer");
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    assert_eq!(heard, b"done");
}

#[test]
fn who_waits_too_long_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let endpoint = os::channel::endpoint(dir.path(), "admin");
    let shared = Arc::new(Shared::default());
    let (mut client, ours, number) = client_of(&shared, &endpoint);
    shared.note(number, true);
    drop(Server { endpoint, shared, thread: None });
    drop(ours);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}
