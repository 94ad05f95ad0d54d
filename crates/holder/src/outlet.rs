//! The one writing end of a connection that several threads write chunks to.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use os::channel::Connection;

use crate::stream::{Channel, Control, HEAD, head, write_control};

/// How much is read of a stream at once.
const PIECE: usize = 8 * 1024;

#[derive(Debug)]
pub(crate) struct Outlet {
    connection: Arc<Connection>,
    /// Until the last word, or until the client is gone.
    open: Mutex<bool>,
    /// How many threads are about to write.
    busy: AtomicU32,
    /// How many writes there were.
    moved: AtomicU32,
}

// === impl Outlet ===

impl Outlet {
    pub(crate) fn new(connection: Arc<Connection>) -> Outlet {
        Outlet { connection, open: Mutex::new(true), busy: AtomicU32::new(0), moved: AtomicU32::new(0) }
    }

    /// Copies a stream to its end. A client that does not read makes the program wait; one that is gone does not.
    pub(crate) fn pump(&self, from: &mut impl Read, channel: Channel) {
        let mut chunk = [0; HEAD + PIECE];
        loop {
            match from.read(&mut chunk[HEAD..]) {
                Ok(0) => return,
                Ok(read) => {
                    chunk[..HEAD].copy_from_slice(&head(channel, read));
                    self.put(&chunk[..HEAD + read]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // How terminals end, and pipes on Windows.
                Err(_) => return,
            }
        }
    }

    fn put(&self, chunk: &[u8]) {
        self.busy.fetch_add(1, Ordering::SeqCst);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if *open && (&*self.connection).write_all(chunk).is_err() {
            *open = false;
        }
        drop(open);
        self.moved.fetch_add(1, Ordering::SeqCst);
        self.busy.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits until the streams have ended, which a closed channel says; or, as somebody may keep one open for ever,
    /// until for so long nothing came and no client had to be waited for.
    pub(crate) fn settle(&self, ended: &Receiver<()>, quiet: Duration) {
        let mut seen = self.moved.load(Ordering::SeqCst);
        while ended.recv_timeout(quiet) == Err(RecvTimeoutError::Timeout) {
            let (busy, moved) = (self.busy.load(Ordering::SeqCst), self.moved.load(Ordering::SeqCst));
            if busy == 0 && moved == seen {
                return;
            }
            seen = moved;
        }
    }

    /// Says the last word and ends the connection.
    pub(crate) fn close(&self, last: &Control) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *open, false) {
            // A client that is gone needs no last word.
            drop(write_control(&mut &*self.connection, last));
        }
        drop(self.connection.shutdown());
    }
}
