//! A client that watches a container and may type into it.

use std::sync::Arc;

use os::channel::Connection;
use os::process::Child;

use crate::audience::{Audience, End, Queue};
use crate::container::small_thread;
use crate::input::{Input, feed};
use crate::protocol::{Answer, send};
use crate::stream::{self, Control};

/// A seat in the audience, and a hand on the container's stdin.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) child: Arc<Child>,
    /// If the client wants it.
    pub(crate) input: Option<Arc<Input>>,
    pub(crate) audience: Arc<Audience>,
    pub(crate) queue: Arc<Queue>,
}

// === impl Attached ===

impl Attached {
    /// The client's thread, from the answer to the end of the connection.
    pub(crate) fn run(self, connection: &Arc<Connection>) {
        // An answer that cannot be sent is a client that is gone, which shows below.
        drop(send(&mut &**connection, &Answer::Streaming { pid: self.child.id() }));
        let (queue, to) = (self.queue.clone(), connection.clone());
        match small_thread("attach", move || deliver(&queue, &to)) {
            Ok(()) => drop(feed(connection, self.input.as_deref(), &self.child)),
            Err(e) => crate::note(format_args!("serve an attached client: {e}")),
        }
    }

    /// Its seat is free, and its stdin closed if the container's rules say so.
    fn leave(&self) {
        self.audience.leave(&self.queue);
        if let Some(input) = &self.input {
            input.client_ended();
        }
    }
}

/// Also when the client could not even be told that it is attached.
impl Drop for Attached {
    fn drop(&mut self) {
        self.leave();
    }
}

fn deliver(queue: &Queue, connection: &Connection) {
    let mut to = connection;
    let end = loop {
        match queue.take() {
            Err(end) => break end,
            Ok((channel, bytes)) => {
                if stream::write(&mut to, channel, &bytes).is_err() {
                    break End::Left;
                }
            }
        }
    };
    let last = match end {
        End::Over => Some(Control::Detached),
        End::Overrun => Some(Control::Overrun),
        End::Left => None,
    };
    if let Some(last) = last {
        // A client that is gone needs no last word.
        drop(stream::write_control(&mut to, &last));
    }
    drop(connection.shutdown());
}
