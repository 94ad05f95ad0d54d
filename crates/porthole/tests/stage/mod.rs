//! A stage on which porthole plays: this host, or Windows as Wine gives it. The same play on both.
//!
//! Everything that a play asserts about processes is seen from outside: from `/proc`, never from porthole.

mod host;
mod play;
pub(crate) mod plays;

pub(crate) use play::Stage;

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Long enough for a slow machine under load; a condition that holds ends the wait at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The repository's examples.
pub(crate) fn examples() -> std::path::PathBuf {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/porthole is two deep").join("examples")
}

/// Waits until the condition gives something.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The next who connects. A container that does not even start must fail its test, not hang it; nor may one that says
/// nothing.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let peer = eventually("somebody connects", || match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        other => Some(other.unwrap().0),
    });
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer
}
