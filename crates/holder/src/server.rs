//! The holder's end of the wire: one thread owns every container, the others only bring it news.
//!
//! Connections, exits and deadlines all arrive at [`Server::serve`]; nothing else touches a container, so
//! there is no lock and no order to get wrong.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use os::channel::{Connection, Listener};

use crate::container::{Container, End, Waiting, small_thread};
use crate::protocol::{Answer, Launch, Refusal, Request, VERSION, receive, send};

/// A holder that holds nothing and hears from nobody goes away: an agent that died between starting a
/// holder and using it leaves nothing behind. Exits are on disk by then.
pub const IDLE_LIMIT: Duration = Duration::from_secs(10);
/// How long a wait goes unanswered; then the client hears that the container still runs, and may ask again.
pub const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How long to pause when a connection could not be taken.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);
/// How long the last answers may take to leave before the holder ends.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Server {
    containers: BTreeMap<String, Container>,
    news: Receiver<News>,
    messenger: Sender<News>,
    connections: usize,
    idle: Duration,
    /// When to go if nothing happens; set while nothing runs and nobody is connected, or after a leave.
    go_at: Option<Instant>,
    leaving: bool,
}

#[derive(Debug)]
enum News {
    Connected,
    Disconnected,
    Asked(Request, Waiting),
    Ended(String, End),
}

// === impl Server ===

impl Server {
    pub fn new(idle: Duration) -> Server {
        let (messenger, news) = channel();
        let go_at = Some(Instant::now() + idle);
        Server { containers: BTreeMap::new(), news, messenger, connections: 0, idle, go_at, leaving: false }
    }

    /// Serves until told to leave or left alone. The calling thread must live as long as the containers.
    pub fn serve(mut self, listener: Listener) -> io::Result<()> {
        let messenger = self.messenger.clone();
        small_thread("accept", move || accept(&listener, &messenger))?;
        while !self.is_over(Instant::now()) {
            match self.next() {
                Ok(news) => self.hear(news),
                Err(RecvTimeoutError::Timeout) => self.enforce(Instant::now()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(())
    }

    fn next(&self) -> Result<News, RecvTimeoutError> {
        let deadlines = self.containers.values().filter_map(Container::deadline);
        match deadlines.chain(self.go_at).min() {
            Some(at) => self.news.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => self.news.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.leaving && self.connections == 0 || self.go_at.is_some_and(|at| at <= now)
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Connected => self.connections += 1,
            News::Disconnected => self.connections -= 1,
            News::Asked(request, from) => self.answer(request, from),
            News::Ended(id, end) => self.ended(&id, end),
        }
        self.enforce(Instant::now());
        self.reconsider_idleness();
    }

    fn reconsider_idleness(&mut self) {
        if self.leaving {
            return;
        }
        let idle = self.connections == 0 && !self.containers.values().any(Container::is_running);
        self.go_at = match (idle, self.go_at) {
            (false, _) => None,
            (true, Some(at)) => Some(at),
            (true, None) => Some(Instant::now() + self.idle),
        };
    }

    fn enforce(&mut self, now: Instant) {
        for (id, container) in &mut self.containers {
            if let Err(e) = container.enforce(now) {
                crate::note(format_args!("kill {id}: {e}"));
            }
        }
    }

    fn ended(&mut self, id: &str, end: End) {
        let Some(container) = self.containers.get_mut(id) else { return };
        if let Err(e) = container.end(end) {
            crate::note(format_args!("record the exit of {id}: {e}"));
        }
    }

    fn answer(&mut self, request: Request, from: Waiting) {
        let answer = match request {
            Request::Hello => Answer::Hello { version: VERSION, pid: std::process::id() },
            Request::Start(launch) => self.start(*launch),
            Request::Stop { id, grace_ms } => self.stop(&id, Duration::from_millis(grace_ms)),
            Request::Wait { id } => match self.containers.get_mut(&id) {
                Some(container) => return container.wait(from),
                None => unknown(&id),
            },
            Request::List => Answer::Containers(self.containers.values().map(Container::held).collect()),
            Request::Stats { id } => self.stats(&id),
            Request::Leave => self.leave(),
        };
        // The client may be gone; its disconnect is on the way.
        drop(from.reply.send(answer));
    }

    fn start(&mut self, launch: Launch) -> Answer {
        if self.leaving {
            return refused(Refusal::State, "the holder is leaving".into());
        }
        if self.containers.get(&launch.id).is_some_and(Container::is_running) {
            return refused(Refusal::Taken, format!("container {} is running already", launch.id));
        }
        // Ends are on disk: keeping the ended ones would grow with every restart.
        self.containers.retain(|_, container| container.is_running());
        let (id, messenger) = (launch.id.clone(), self.messenger.clone());
        let ended = {
            let id = id.clone();
            // The server may be gone by then, and with it everyone who could care.
            move |end| drop(messenger.send(News::Ended(id, end)))
        };
        match Container::start(launch, ended) {
            Ok(container) => {
                let pid = container.pid();
                self.containers.insert(id, container);
                Answer::Started { pid }
            }
            Err(e) => refused(e.refusal(), e.to_string()),
        }
    }

    fn stop(&mut self, id: &str, grace: Duration) -> Answer {
        match self.containers.get_mut(id).map(|container| container.stop(grace, Instant::now())) {
            None => unknown(id),
            Some(Ok(())) => Answer::Stopping,
            Some(Err(e)) => refused(Refusal::State, e.to_string()),
        }
    }

    fn stats(&self, id: &str) -> Answer {
        match self.containers.get(id) {
            None => unknown(id),
            Some(container) => match container.stats() {
                Ok(stats) => Answer::Stats(stats),
                Err(e) => refused(Refusal::System, format!("read the counters of {id}: {e}")),
            },
        }
    }

    fn leave(&mut self) -> Answer {
        if let Some((id, _)) = self.containers.iter().find(|(_, container)| container.is_running()) {
            return refused(Refusal::State, format!("container {id} is running"));
        }
        self.leaving = true;
        self.go_at = Some(Instant::now() + FAREWELL);
        Answer::Left
    }
}

fn unknown(id: &str) -> Answer {
    refused(Refusal::Unknown, format!("no container {id} is held here"))
}

fn refused(why: Refusal, message: String) -> Answer {
    Answer::Refused { why, message }
}

fn accept(listener: &Listener, messenger: &Sender<News>) {
    loop {
        match listener.accept() {
            Ok(connection) => {
                if messenger.send(News::Connected).is_err() {
                    return;
                }
                let to_server = messenger.clone();
                let started = small_thread("client", move || {
                    converse(connection, &to_server);
                    drop(to_server.send(News::Disconnected));
                });
                if let Err(e) = started {
                    crate::note(format_args!("serve a client: {e}"));
                    drop(messenger.send(News::Disconnected));
                }
            }
            Err(e) => {
                // Out of descriptors, perhaps: a holder that stops listening would be taken for dead.
                crate::note(format_args!("accept: {e}"));
                std::thread::sleep(ACCEPT_AGAIN);
            }
        }
    }
}

/// One client, until it closes, breaks the rules or the holder goes.
fn converse(mut connection: Connection, messenger: &Sender<News>) {
    while let Ok(request) = receive(&mut connection) {
        let (reply, answer) = channel();
        let listening = Arc::new(());
        let from = Waiting { reply, listening: Arc::downgrade(&listening) };
        if messenger.send(News::Asked(request, from)).is_err() {
            return;
        }
        let answer = match answer.recv_timeout(LONGEST_WAIT) {
            Ok(answer) => answer,
            // Said now and then, so that the thread of a client that died finds out.
            Err(RecvTimeoutError::Timeout) => Answer::StillRunning,
            Err(RecvTimeoutError::Disconnected) => refused(Refusal::Unknown, "the container is gone".into()),
        };
        if send(&mut connection, &answer).is_err() {
            return;
        }
    }
}
