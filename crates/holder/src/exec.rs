//! One more process in a running container, and the client at its streams.
//!
//! It is born in the container's job, so it ends with init whatever else happens. Beside the client's own thread, which
//! passes on stdin, there is a thread per output and one that waits for the end; all of them are gone with the exec.
//! Nothing is kept: a client that reads slowly stops the program, as a full pipe would.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use std::{io, mem};

use os::channel::Connection;
use os::job::Job;
use os::process::{Child, Exit, Waiter};
use os::tap::Closer;

use crate::container::{KILL_AGAIN, small_thread};
use crate::input::{Input, feed};
use crate::outlet::Outlet;
use crate::protocol::{self, Answer, send};
use crate::server::News;
use crate::stream::{Channel, Control, ExecEnd};

/// How long a process goes on whose client went away.
const ORPHAN_LIMIT: Duration = Duration::from_secs(10);
/// How often to look whether a client is still there that nobody reads from: the program does not read its stdin.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long an output may be quiet that something in the background keeps open after the process has ended.
const QUIET: Duration = Duration::from_millis(500);

/// A running exec as the server knows it: enough to end it.
#[derive(Debug)]
pub(crate) struct Exec {
    id: String,
    child: Arc<Child>,
    job: Weak<Job>,
    client: Weak<Connection>,
    timeout_at: Option<Instant>,
    orphan_at: Option<Instant>,
    look_at: Instant,
    late: Arc<AtomicBool>,
}

/// The same as its client's thread knows it: the streams.
#[derive(Debug)]
pub(crate) struct Session {
    number: u64,
    child: Arc<Child>,
    input: Option<Input>,
    outputs: [Option<(Channel, File)>; 2],
    timeout: Option<Duration>,
    late: Arc<AtomicBool>,
    news: Sender<News>,
}

// === impl Exec ===

impl Exec {
    pub(crate) fn new(
        request: &protocol::Exec,
        mut child: Child,
        job: Weak<Job>,
        client: Weak<Connection>,
        (number, news): (u64, Sender<News>),
    ) -> (Exec, Session) {
        let late = Arc::new(AtomicBool::new(false));
        let terminal = request.terminal.is_some();
        let input = child.stdin.take().map(|file| Input::new(file, terminal, true));
        let outputs = [
            child.stdout.take().map(|file| (Channel::Stdout, file)),
            child.stderr.take().map(|file| (Channel::Stderr, file)),
        ];
        let (child, timeout) = (Arc::new(child), request.timeout_ms.map(Duration::from_millis));
        let now = Instant::now();
        let exec = Exec {
            id: request.id.clone(),
            child: child.clone(),
            job,
            client,
            // One that is too long to be reckoned with is none.
            timeout_at: timeout.and_then(|timeout| now.checked_add(timeout)),
            orphan_at: None,
            look_at: now + LOOK_AGAIN,
            late: late.clone(),
        };
        (exec, Session { number, child, input, outputs, timeout, late, news })
    }

    /// When [`Exec::enforce`] next has something to do.
    pub(crate) fn deadline(&self) -> Instant {
        [self.timeout_at, self.orphan_at].into_iter().flatten().fold(self.look_at, Instant::min)
    }

    pub(crate) fn client_left(&mut self, now: Instant) {
        self.orphan_at.get_or_insert(now + ORPHAN_LIMIT);
    }

    /// Ends it if its time is over, or its client has been gone for long enough.
    pub(crate) fn enforce(&mut self, now: Instant) {
        if self.look_at <= now {
            self.look_at = now + LOOK_AGAIN;
            if self.client.upgrade().is_none_or(|client| client.is_hung_up()) {
                self.client_left(now);
            }
        }
        let is_over = |at: &mut Option<Instant>| {
            let over = at.is_some_and(|at| at <= now);
            if over {
                // A kill that failed is tried again.
                *at = Some(now + KILL_AGAIN);
            }
            over
        };
        let (late, orphan) = (is_over(&mut self.timeout_at), is_over(&mut self.orphan_at));
        if late {
            self.late.store(true, Ordering::SeqCst);
        }
        if late || orphan {
            self.kill();
        }
    }

    pub(crate) fn kill(&self) {
        let killed = match self.job.upgrade() {
            Some(job) => self.child.kill_session(&job),
            None => self.child.kill(),
        };
        if let Err(e) = killed {
            crate::note(format_args!("kill exec {}: {e}", self.id));
        }
    }
}

// === impl Session ===

impl Session {
    /// The client's thread, from the answer to the end of the connection.
    pub(crate) fn run(mut self, connection: &Arc<Connection>) {
        // An answer that cannot be sent is a client that is gone, which shows below.
        drop(send(&mut &**connection, &Answer::Streaming { pid: self.child.id() }));
        let outlet = Arc::new(Outlet::new(connection.clone()));
        if let Err(e) = self.watch(&outlet) {
            self.give_up(&outlet, &e);
            return;
        }
        drop(feed(connection, self.input.as_ref(), &self.child));
        if let Some(input) = &self.input {
            input.client_ended();
        }
        drop(self.news.send(News::ExecLeft(self.number)));
    }

    /// Starts the threads that copy the outputs and wait for the end.
    fn watch(&mut self, outlet: &Arc<Outlet>) -> io::Result<()> {
        let closer = Closer::new()?;
        let (done, copied) = channel();
        for (which, file) in mem::take(&mut self.outputs).into_iter().flatten() {
            let (mut tap, outlet, done) = (closer.tap(file), outlet.clone(), done.clone());
            small_thread("exec-out", move || {
                outlet.pump(&mut tap, which);
                drop(done);
            })?;
        }
        drop(done);
        let (waiter, outlet) = (self.child.waiter()?, outlet.clone());
        let (number, news) = (self.number, self.news.clone());
        let (late, timeout) = (self.late.clone(), self.timeout);
        small_thread("exec", move || {
            let mut end = wait(waiter);
            // From now on there is nothing to kill.
            drop(news.send(News::ExecEnded(number)));
            if late.load(Ordering::SeqCst) {
                end.timed_out = true;
                let limit = timeout.unwrap_or_default().as_secs_f32();
                end.message.get_or_insert_with(|| format!("killed after {limit} s"));
            }
            outlet.settle(&copied, QUIET);
            closer.close();
            outlet.close(&Control::Ended(end));
        })
    }

    /// Out of threads or descriptors: nobody can watch it, so it must not run.
    fn give_up(&self, outlet: &Outlet, error: &io::Error) {
        let message = Some(format!("its streams cannot be served: {error}"));
        drop(self.child.kill());
        let end = self.child.waiter().map_or_else(|_| ExecEnd::default(), wait);
        drop(self.news.send(News::ExecEnded(self.number)));
        outlet.close(&Control::Ended(ExecEnd { message, ..end }));
    }

    /// Its client cannot be told: it ends here.
    pub(crate) fn abandon(self) {
        drop(self.child.kill());
        if let Ok(waiter) = self.child.waiter() {
            // A killed process ends at once, unless the kernel holds it; then a thread waits for it.
            drop(small_thread("exec", move || drop(waiter.wait())));
        }
        drop(self.news.send(News::ExecEnded(self.number)));
    }
}

fn wait(waiter: Waiter) -> ExecEnd {
    match waiter.wait() {
        Ok(Exit { code, signal }) => ExecEnd { code, signal, ..ExecEnd::default() },
        Err(e) => ExecEnd {
            code: 255,
            message: Some(format!("the exit code could not be read: {e}")),
            ..ExecEnd::default()
        },
    }
}
