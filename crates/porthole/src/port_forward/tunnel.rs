//! Bytes there and back again, with each side's end passed on to the other.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::up::say;

/// At once, over all ports: each costs two threads.
const MOST: usize = 256;
const TRY_AGAIN: Duration = Duration::from_millis(100);

static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Takes connections in until the program ends.
pub(super) fn serve(listener: &TcpListener, remote: u16) {
    loop {
        match listener.accept() {
            Ok((client, _)) => take_in(client, remote),
            // Out of descriptors, usually: those who wait are taken in later.
            Err(_) => thread::sleep(TRY_AGAIN),
        }
    }
}

fn take_in(client: TcpStream, remote: u16) {
    if OPEN.fetch_add(1, Ordering::SeqCst) >= MOST {
        OPEN.fetch_sub(1, Ordering::SeqCst);
        return say(&format!("port {remote}: {MOST} connections are open, one more was refused"));
    }
    let started = thread::Builder::new().spawn(move || {
        if let Err(e) = pass(&client, remote) {
            say(&format!("port {remote}: {e}"));
        }
        OPEN.fetch_sub(1, Ordering::SeqCst);
    });
    if started.is_err() {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

fn pass(client: &TcpStream, remote: u16) -> io::Result<()> {
    let pod = dial(remote)?;
    drop((client.set_nodelay(true), pod.set_nodelay(true)));
    thread::scope(|scope| {
        scope.spawn(|| pump(client, &pod));
        pump(&pod, client);
    });
    Ok(())
}

/// A program may listen on either loopback.
fn dial(port: u16) -> io::Result<TcpStream> {
    let v4 = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    v4.or_else(|e| TcpStream::connect(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).map_err(|_| e))
}

/// One direction to its end. A side that broke ends the other one too.
fn pump(mut from: &TcpStream, mut to: &TcpStream) {
    if io::copy(&mut from, &mut to).is_err() {
        drop(from.shutdown(Shutdown::Both));
    }
    // Whoever is gone already needs no end.
    drop(to.shutdown(Shutdown::Write));
}
