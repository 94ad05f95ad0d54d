//! Somebody between client and server who counts how often the server says something.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bound and not yet serving: a server wants to know its name before it has an address of its own.
pub(crate) struct Relay(TcpListener);

impl Relay {
    pub(crate) fn open() -> Relay {
        Relay(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"))
    }

    /// `HOST:PORT` for URLs.
    pub(crate) fn name(&self) -> String {
        self.0.local_addr().expect("bound").to_string()
    }

    /// Passes on every connection; what is counted is pieces that came back.
    pub(crate) fn to(self, server: SocketAddr) -> Arc<AtomicUsize> {
        let answers = Arc::new(AtomicUsize::new(0));
        let counted = answers.clone();
        std::thread::spawn(move || {
            for client in self.0.incoming().flatten() {
                let server = TcpStream::connect(server).expect("the server");
                let (asks, asked) = (twin_of(&client), twin_of(&server));
                let counted = counted.clone();
                std::thread::spawn(move || pass(asks, asked, || {}));
                std::thread::spawn(move || {
                    pass(server, client, || {
                        counted.fetch_add(1, Ordering::SeqCst);
                    })
                });
            }
        });
        answers
    }
}

fn twin_of(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("one more descriptor")
}

fn pass(mut from: TcpStream, mut to: TcpStream, passed: impl Fn()) {
    let mut piece = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        passed();
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    // Whoever hangs up on one is hung up on by the other.
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
