//! An exec or attach, passed on between a client and the holder.
//!
//! Nothing is kept: each chunk is written before the next one is read, so whoever is slow stops the other side.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use holder::client::{Heard, Stream, StreamReader, StreamWriter};
use holder::stream::{self, Channel, ChunkError, Control};
use os::channel::Connection;

use crate::server::STACK;

/// How often to look for a client that went away while the program did not read its stdin.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Until one of the two sides ends. The holder sees to the process of a client that went away.
pub(crate) fn relay(connection: &Arc<Connection>, stream: Stream) -> std::io::Result<()> {
    let (reader, writer) = stream.split();
    let (told, over) = channel::<()>();
    let there = connection.clone();
    let outputs = small_thread("admin-out", {
        let (to, writer, told) = (connection.clone(), writer.clone(), told.clone());
        move || {
            deliver(reader, &to);
            drop((to.shutdown(), writer.hang_up(), told));
        }
    })?;
    let inputs = small_thread("admin-in", {
        let (from, mut writer) = (connection.clone(), writer.clone());
        move || {
            if feed(&from, &mut writer).is_err() {
                drop(writer.hang_up());
            }
            drop(told);
        }
    });
    if inputs.is_err() {
        drop((writer.hang_up(), connection.shutdown()));
    }
    while over.recv_timeout(LOOK_AGAIN) == Err(RecvTimeoutError::Timeout) {
        if there.is_hung_up() {
            drop(writer.hang_up());
        }
    }
    for thread in [Ok(outputs), inputs] {
        // A panic there ends this client and nobody else.
        drop(thread?.join());
    }
    Ok(())
}

fn small_thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(run)
}

/// What the process says, to the client.
fn deliver(reader: StreamReader, mut to: &Connection) {
    for heard in reader {
        let passed = match heard {
            Ok(Heard::Stdout(bytes)) => stream::write(&mut to, Channel::Stdout, &bytes),
            Ok(Heard::Stderr(bytes)) => stream::write(&mut to, Channel::Stderr, &bytes),
            Ok(Heard::Ended(end)) => return last_word(to, &Control::Ended(end)),
            Ok(Heard::Detached) => return last_word(to, &Control::Detached),
            Ok(Heard::Overrun) => return last_word(to, &Control::Overrun),
            Err(_) => return,
        };
        if passed.is_err() {
            return;
        }
    }
}

fn last_word(mut to: &Connection, word: &Control) {
    // A client that is gone needs none.
    drop(stream::write_control(&mut to, word));
}

/// What the client says, to the process: until the client goes or breaks the rules, which is an error, or until nobody
/// listens, when what the process said may still be on its way.
fn feed(from: &Connection, writer: &mut StreamWriter) -> Result<(), ChunkError> {
    let mut bytes = Vec::new();
    loop {
        let passed = match stream::read(&mut &*from, &mut bytes)? {
            Channel::Stdin if bytes.is_empty() => writer.close_stdin(),
            Channel::Stdin => writer.stdin(&bytes),
            Channel::Control => match serde_json::from_slice(&bytes)? {
                Control::Resize(size) => writer.resize(size),
                _ => return Err(ChunkError::Direction(Channel::Control)),
            },
            other => return Err(ChunkError::Direction(other)),
        };
        if passed.is_err() {
            return Ok(());
        }
    }
}
