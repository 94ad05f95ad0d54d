//! The agent's end: one thread that takes clients in, and one for each of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use holder::protocol::{FrameError, receive, send};
use os::channel::{Connection, Endpoint, Listener};
use runtime::Runtime;

use crate::act::{Done, act};
use crate::protocol::{Answer, Refusal, Refused, Request, VERSION};
use crate::relay::relay;

/// More than people and their scripts need at once; each costs the agent a few threads.
pub const MOST_CLIENTS: usize = 128;
/// How long a client may be silent that is expected to ask.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the end waits for clients: first for the answers that they wait for, then for them to leave.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long to leave a listener alone that failed: out of descriptors, usually.
const TRY_AGAIN: Duration = Duration::from_millis(100);
pub(crate) const STACK: usize = 256 * 1024;

/// The door, open until this is dropped.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopping: AtomicBool,
    clients: Mutex<Clients>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Clients {
    next: u64,
    there: BTreeMap<u64, Client>,
}

#[derive(Debug)]
struct Client {
    connection: Arc<Connection>,
    /// It has asked and has no answer yet.
    waits: bool,
}

/// Opens the door of the runtime's node. The caller has the node's lock, so nobody else serves there.
pub fn serve(runtime: &Runtime) -> io::Result<Server> {
    let endpoint = crate::endpoint(&runtime.node().layout);
    let listener = Listener::bind(&endpoint)?;
    let shared = Arc::new(Shared::default());
    let thread = {
        let (shared, runtime) = (shared.clone(), runtime.clone());
        small_thread(move || accept(&listener, &shared, &runtime))?
    };
    Ok(Server { endpoint, shared, thread: Some(thread) })
}

fn small_thread(run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("admin".to_owned()).stack_size(STACK).spawn(run)
}

fn accept(listener: &Listener, shared: &Arc<Shared>, runtime: &Runtime) {
    loop {
        let came = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        match came {
            Ok(connection) => take_in(Arc::new(connection), shared, runtime),
            Err(_) => thread::sleep(TRY_AGAIN),
        }
    }
}

fn take_in(connection: Arc<Connection>, shared: &Arc<Shared>, runtime: &Runtime) {
    let Some(number) = shared.enter(&connection) else {
        let message = format!("{MOST_CLIENTS} clients are being served: try again");
        drop(send(&mut &*connection, &Answer::Refused(Refused::new(Refusal::Busy, message))));
        return;
    };
    let (leaving, runtime) = (shared.clone(), runtime.clone());
    let served = small_thread(move || {
        converse(&connection, &runtime, |waits| leaving.note(number, waits));
        drop(runtime);
        leaving.leave(number);
    });
    if served.is_err() {
        // Out of threads: the client sees its connection end.
        shared.leave(number);
    }
}

/// One client, until it closes, breaks the rules or has its stream.
fn converse(connection: &Arc<Connection>, runtime: &Runtime, waits: impl Fn(bool)) {
    loop {
        let asked = connection.set_read_timeout(Some(PATIENCE)).map_err(FrameError::from);
        let asked = asked.and_then(|()| receive(&mut &**connection));
        waits(true);
        let answer = match asked.map(|request| answer(request, runtime)) {
            Ok(Reply::Answer(answer)) => answer,
            Ok(Reply::Stream(stream)) => {
                let streaming = Answer::Streaming { pid: stream.pid };
                let told =
                    connection.set_read_timeout(None).is_ok() && send(&mut &**connection, &streaming).is_ok();
                waits(false);
                if told {
                    // Out of threads: the client sees its stream end.
                    drop(relay(connection, stream));
                }
                return;
            }
            Err(e) => {
                // After what could not be read nothing can be trusted.
                if let Some(refused) = Refused::of_frame(&e) {
                    drop(send(&mut &**connection, &Answer::Refused(refused)));
                }
                return;
            }
        };
        let sent = send(&mut &**connection, &answer);
        waits(false);
        if sent.is_err() {
            return;
        }
    }
}

enum Reply {
    Answer(Answer),
    Stream(holder::client::Stream),
}

fn answer(request: Request, runtime: &Runtime) -> Reply {
    if let Request::Hello { .. } = request {
        return Reply::Answer(Answer::Hello { version: VERSION, pid: std::process::id() });
    }
    match act(runtime, request) {
        Ok(Done::Nothing) => Reply::Answer(Answer::Done),
        Ok(Done::Stats(stats)) => Reply::Answer(Answer::Stats(stats)),
        Ok(Done::Streaming(stream)) => Reply::Stream(stream),
        Err(refused) => Reply::Answer(Answer::Refused(refused)),
    }
}

// === impl Shared ===

impl Shared {
    /// None if the house is full.
    fn enter(&self, connection: &Arc<Connection>) -> Option<u64> {
        let mut clients = self.clients();
        if clients.there.len() >= MOST_CLIENTS {
            return None;
        }
        let number = clients.next;
        clients.next += 1;
        clients.there.insert(number, Client { connection: connection.clone(), waits: false });
        Some(number)
    }

    fn note(&self, number: u64, waits: bool) {
        if let Some(client) = self.clients().there.get_mut(&number) {
            client.waits = waits;
        }
        self.left.notify_all();
    }

    fn leave(&self, number: u64) {
        self.clients().there.remove(&number);
        self.left.notify_all();
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until no client is like this, or the time for it is over.
    fn until_none(&self, like: impl Fn(&Client) -> bool) -> MutexGuard<'_, Clients> {
        let some = |clients: &mut Clients| clients.there.values().any(&like);
        let waited = self.left.wait_timeout_while(self.clients(), FAREWELL, some);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

// === impl Server ===

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The one who waits at the door is woken by somebody who comes in.
        let woken = Connection::connect(&self.endpoint);
        if let Some(thread) = self.thread.take().filter(|_| woken.is_ok()) {
            drop(thread.join());
        }
        // Who asked for the very thing that ends us hears that it is done.
        let clients = self.shared.until_none(|client| client.waits);
        for client in clients.there.values() {
            drop(client.connection.shutdown());
        }
        drop(clients);
        drop(self.shared.until_none(|_| true));
        drop(os::channel::remove_leftover(&self.endpoint));
    }
}

#[cfg(test)]
mod tests;
