//! The holder's end of the wire: one thread owns every container, the others only bring it news.
//!
//! Connections, exits and deadlines all arrive at [`Server::serve`]; nothing else touches a container, so
//! there is no lock and no order to get wrong.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::time::{Duration, Instant};

use os::channel::Listener;

use crate::attach::Attached;
use crate::container::{Container, End, StateError, UseError, Waiting, small_thread};
use crate::converse::accept;
use crate::exec::{Exec, Session};
use crate::fail;
use crate::protocol::{self, Answer, Held, Launch, Refusal, Request, Started, VERSION};

/// A holder that holds nothing and hears from nobody goes away: an agent that died between starting a
/// holder and using it leaves nothing behind. Exits are on disk by then.
pub const IDLE_LIMIT: Duration = Duration::from_secs(10);
/// How long a wait goes unanswered; then the client hears that the container still runs, and may ask again.
pub const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// How long after the last news the holder gives back what it no longer needs: they come in bursts.
const REST_AFTER: Duration = Duration::from_secs(1);
/// How long the last answers may take to leave before the holder ends.
const FAREWELL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Server {
    containers: BTreeMap<String, Container>,
    /// By number, until the process has ended.
    execs: BTreeMap<u64, Exec>,
    /// The number of the next exec.
    next_exec: u64,
    /// When to give back what the last news needed.
    rest_at: Option<Instant>,
    news: Receiver<News>,
    messenger: Sender<News>,
    connections: usize,
    idle: Duration,
    /// When to go if nothing happens; set while nothing runs and nobody is connected, or after a leave.
    go_at: Option<Instant>,
    leaving: bool,
}

#[derive(Debug)]
pub(crate) enum News {
    Connected,
    Disconnected,
    Asked(Request, Waiting),
    Ended(String, End),
    ExecEnded(u64),
    /// The client of an exec is gone.
    ExecLeft(u64),
}

/// What a client's thread does next.
#[derive(Debug)]
pub(crate) enum Reply {
    Answer(Answer),
    Exec(Box<Session>),
    Attach(Box<Attached>),
}

// === impl Server ===

impl Server {
    pub fn new(idle: Duration) -> Server {
        let (messenger, news) = channel();
        let go_at = Some(Instant::now() + idle);
        Server {
            containers: BTreeMap::new(),
            execs: BTreeMap::new(),
            next_exec: 0,
            rest_at: None,
            news,
            messenger,
            connections: 0,
            idle,
            go_at,
            leaving: false,
        }
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
        let deadlines = deadlines.chain(self.execs.values().map(Exec::deadline));
        match deadlines.chain(self.go_at).chain(self.rest_at).min() {
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
            News::ExecEnded(number) => drop(self.execs.remove(&number)),
            News::ExecLeft(number) => {
                if let Some(exec) = self.execs.get_mut(&number) {
                    exec.client_left(Instant::now());
                }
            }
        }
        let now = Instant::now();
        self.rest_at = Some(now + REST_AFTER);
        self.enforce(now);
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
        self.execs.values_mut().for_each(|exec| exec.enforce(now));
        if self.rest_at.take_if(|at| *at <= now).is_some() {
            os::process::rest();
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
            Request::AllStats => self.all_stats(),
            Request::Update { id, limits } => self.on(&id, Answer::Updated, |it| it.update(&limits)),
            Request::ReopenLog { id } => self.on(&id, Answer::Reopened, Container::reopen_log),
            Request::Exec(exec) => return self.exec(&exec, from),
            Request::Attach { id, stdin } => return self.attach(&id, stdin, &from),
            Request::Leave => self.leave(),
        };
        // The client may be gone; its disconnect is on the way.
        drop(from.reply.send(answer.into()));
    }

    fn on(&self, id: &str, done: Answer, what: impl FnOnce(&Container) -> Result<(), UseError>) -> Answer {
        match self.containers.get(id).map(what) {
            None => unknown(id),
            Some(Ok(())) => done,
            Some(Err(e)) => refused(e.refusal(), e.to_string()),
        }
    }

    /// Here and not on the client's thread: what a thread started ends with it on Linux.
    fn exec(&mut self, request: &protocol::Exec, from: Waiting) {
        let reply = match self.containers.get(&request.container).map(|container| container.exec(request)) {
            None => unknown(&request.container).into(),
            Some(Err(e)) => refused(e.refusal(), e.to_string()).into(),
            Some(Ok((child, job))) => {
                let number = self.next_exec;
                self.next_exec += 1;
                let news = (number, self.messenger.clone());
                let (exec, session) = Exec::new(request, child, job, from.client, news);
                self.execs.insert(number, exec);
                Reply::Exec(Box::new(session))
            }
        };
        if let Err(SendError(Reply::Exec(session))) = from.reply.send(reply) {
            session.abandon();
        }
    }

    fn attach(&self, id: &str, stdin: bool, from: &Waiting) {
        let reply = match self.containers.get(id).map(|container| container.attach(stdin)) {
            None => unknown(id).into(),
            Some(Err(e)) => Reply::from(&e),
            Some(Ok(attached)) => Reply::Attach(Box::new(attached)),
        };
        // A client that is gone gives its seat back as the reply is dropped.
        drop(from.reply.send(reply));
    }

    /// One that ends meanwhile is left out.
    fn all_stats(&self) -> Answer {
        let running = self.containers.iter().filter(|(_, container)| container.is_running());
        let stats = running.filter_map(|(id, container)| match container.stats() {
            Ok(stats) => Some((id.clone(), stats)),
            Err(e) => {
                crate::note(format_args!("read the counters of {id}: {e}"));
                None
            }
        });
        Answer::AllStats(stats.collect())
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
                let Held { pid, started, .. } = container.held();
                self.containers.insert(id, container);
                Answer::Started(Started { pid, started: Some(started) })
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
        fail::point("hold-leaving");
        self.go_at = Some(Instant::now() + FAREWELL);
        Answer::Left
    }
}

fn unknown(id: &str) -> Answer {
    refused(Refusal::Unknown, format!("no container {id} is held here"))
}

pub(crate) fn refused(why: Refusal, message: String) -> Answer {
    Answer::Refused { why, message }
}

// === impl Reply ===

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Reply {
        Reply::Answer(answer)
    }
}

impl From<&StateError> for Reply {
    fn from(error: &StateError) -> Reply {
        refused(Refusal::State, error.to_string()).into()
    }
}
