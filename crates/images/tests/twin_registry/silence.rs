//! An address at which somebody listens and nobody answers, as behind a firewall that says nothing.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;

use crate::bench::Bench;
use crate::hosts::certs;

/// Connections that the kernel completes for the listener before it lets others wait.
const BACKLOG: u32 = 1;
/// On loopback one that is completed at all is so at once.
const AT_ONCE: Duration = Duration::from_millis(200);

struct Silence {
    address: SocketAddr,
    _listener: TcpListener,
    _queued: Vec<TcpStream>,
    _runtime: Runtime,
}

// === impl Silence ===

impl Silence {
    /// With a socket of tokio's, because the queue of one of the standard library is too long to be filled.
    fn start() -> Silence {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let inside = runtime.enter();
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("bound");
        let listener = socket.listen(BACKLOG).expect("listens");
        let address = listener.local_addr().expect("an address");
        let queued = std::iter::from_fn(|| TcpStream::connect_timeout(&address, AT_ONCE).ok());
        let queued: Vec<_> = queued.take(100).collect();
        assert!(queued.len() < 100, "the queue has no end");
        drop(inside);
        Silence { address, _listener: listener, _queued: queued, _runtime: runtime }
    }
}

#[test]
fn a_mirror_that_says_nothing_is_waited_for_as_long_as_its_file_says() {
    let (bench, silence) = (Bench::new(), Silence::start());
    let mirror = format!("[host.\"http://{}\"]\ndial_timeout = \"300ms\"\n", silence.address);
    let (_root, access) = certs(&bench.registry.address().to_string(), &mirror);
    let begun = Instant::now();
    bench.assert_whole(&bench.pull(&access), 0);
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(300), "it was not waited for: {took:?}");
    assert!(took < Duration::from_secs(9), "it was waited for as long as any other: {took:?}");
}

#[test]
fn a_registry_that_says_nothing_is_given_up_as_its_file_says() {
    let (bench, silence) = (Bench::new(), Silence::start());
    let address = silence.address.to_string();
    let (_root, access) = certs(&address, "dial_timeout = \"100ms\"\n");
    let begun = Instant::now();
    let pulled = crate::bench::pull(&format!("{address}/try/app:1"), &access, &bench.image);
    pulled.refused(&["could not be asked", "deadline has elapsed"]);
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}
