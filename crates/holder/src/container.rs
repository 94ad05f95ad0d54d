//! One container's life in the holder: a job, an init process, two streams into a log, and an end.
//!
//! States refuse: running → stopping → ended, and nothing goes back. When init ends the rest of the job is
//! killed and the end is published once the job is empty (HP-07).

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use os::job::{Job, JobStats};
use os::process::{Child, Exit, Spawn, Waiter};
use os::view::View;

use crate::clock;
use crate::exit::{ExitReason, ExitRecord, KILLED_CODE};
use crate::log::{Log, Stream};
use crate::protocol::{Answer, Held, Launch, Refusal};

/// How long a killed job may take to become empty, and its streams to end, before the exit is published
/// with a warning instead of waiting on.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// How long after a kill that failed the next one is tried.
const KILL_AGAIN: Duration = Duration::from_secs(1);
/// The threads here copy bytes and wait; the default of 2 MiB would be address space for nothing.
pub(crate) const SMALL_STACK: usize = 96 * 1024;

#[derive(Debug)]
pub struct Container {
    id: String,
    exit_file: PathBuf,
    /// Until the end is recorded.
    job: Option<Arc<Job>>,
    child: Child,
    started: String,
    phase: Phase,
    waiting: Vec<Waiting>,
}

/// Somebody who wants to hear of the end, and a sign that they still listen.
#[derive(Debug)]
pub struct Waiting {
    pub reply: Sender<Answer>,
    pub listening: Weak<()>,
}

#[derive(Debug)]
enum Phase {
    Running,
    Stopping { kill_at: Instant, grace: Duration, killed: bool },
    Ended(ExitRecord),
}

/// What the waiting thread saw; the owner makes the record of it.
#[derive(Debug)]
pub struct End {
    pub exit: io::Result<Exit>,
    /// The job did not empty, or a stream did not end, within the limit.
    pub unfinished: Option<&'static str>,
}

/// Why a container did not start; nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("open the log {path}: {source}")]
    Log { path: String, source: io::Error },
    #[error("create the job {id}: {source}")]
    Job { id: String, source: io::Error },
    #[error("set the limits: {0}")]
    Limits(io::Error),
    #[error("{program}: {source}")]
    Spawn { program: String, source: os::process::SpawnError },
    #[error("start a thread: {0}")]
    Thread(io::Error),
}

/// A request that does not fit the container's state.
#[derive(Debug, thiserror::Error)]
#[error("container {id} {state}")]
pub struct StateError {
    id: String,
    state: &'static str,
}

// === impl Container ===

impl Container {
    /// Starts init inside a fresh job. `ended` is called once, from another thread, when all is over.
    ///
    /// Must be called from a thread that lives as long as the container: its end takes init along.
    pub fn start(launch: Launch, ended: impl FnOnce(End) + Send + 'static) -> Result<Container, StartError> {
        let log = Log::open(&launch.log)
            .map_err(|source| StartError::Log { path: launch.log.display().to_string(), source })?;
        let job = Job::create(&launch.job)
            .map_err(|source| StartError::Job { id: launch.job.id.clone(), source })?;
        let mut child = spawn_in(&job, &launch)?;
        let started = clock::now();
        let job = Arc::new(job);
        if let Err(e) = watch(&mut child, log, job.clone(), ended) {
            // Best effort: the start already failed and says so; an empty job is removed on drop.
            drop(job.terminate(KILLED_CODE));
            drop(job.wait_empty(DRAIN_LIMIT));
            return Err(StartError::Thread(e));
        }
        os::process::rest();
        // The rest of the launch is dropped here: environments hold secrets and cost memory.
        Ok(Container {
            id: launch.id,
            exit_file: launch.exit,
            job: Some(job),
            child,
            started,
            phase: Phase::Running,
            waiting: Vec::new(),
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Ended(_))
    }

    /// Asks init to end and remembers when to stop asking. A second call may only shorten the wait.
    pub fn stop(&mut self, grace: Duration, now: Instant) -> Result<(), StateError> {
        let deadline = now + grace;
        match &mut self.phase {
            Phase::Ended(_) => {
                return Err(StateError { id: self.id.clone(), state: "has ended already" });
            }
            Phase::Stopping { kill_at, grace: known, .. } if deadline < *kill_at => {
                (*kill_at, *known) = (deadline, grace);
            }
            Phase::Stopping { .. } => {}
            Phase::Running => {
                self.phase = Phase::Stopping { kill_at: deadline, grace, killed: false };
                if !grace.is_zero()
                    && let Err(e) = self.child.request_stop()
                {
                    // The kill at the deadline remains.
                    crate::note(format_args!("ask {} to stop: {e}", self.id));
                }
            }
        }
        Ok(())
    }

    /// When [`Container::enforce`] next has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Stopping { kill_at, killed: false, .. } => Some(kill_at),
            _ => None,
        }
    }

    /// Kills the job if its grace period is over.
    pub fn enforce(&mut self, now: Instant) -> io::Result<()> {
        match &mut self.phase {
            Phase::Stopping { kill_at, killed, .. } if !*killed && *kill_at <= now => {
                let done = self.job.as_ref().map_or(Ok(()), |job| job.terminate(KILLED_CODE));
                *killed = done.is_ok();
                // A kill that failed is tried again, not given up.
                *kill_at = now + KILL_AGAIN;
                done
            }
            _ => Ok(()),
        }
    }

    pub fn stats(&self) -> io::Result<JobStats> {
        self.job.as_ref().ok_or_else(|| io::Error::other("it has ended"))?.stats()
    }

    /// Answers when the container has ended.
    pub fn wait(&mut self, waiting: Waiting) {
        match &self.phase {
            // A client that went away meanwhile is no error.
            Phase::Ended(record) => drop(waiting.reply.send(Answer::Ended(record.clone()))),
            _ => {
                // Clients ask again and again over a long life: those who went must not pile up.
                self.waiting.retain(|known| known.listening.strong_count() > 0);
                self.waiting.push(waiting);
            }
        }
    }

    /// Records the end, durably, then tells everyone who waits.
    pub fn end(&mut self, end: End) -> io::Result<()> {
        let record = self.record(end);
        let written = record.write(&self.exit_file);
        self.phase = Phase::Ended(record.clone());
        for waiting in self.waiting.drain(..) {
            drop(waiting.reply.send(Answer::Ended(record.clone())));
        }
        let closed = self.job.take().and_then(Arc::into_inner).map_or(Ok(()), Job::close);
        written.and(closed)
    }

    pub fn held(&self) -> Held {
        let exit = match &self.phase {
            Phase::Ended(record) => Some(record.clone()),
            _ => None,
        };
        Held {
            id: self.id.clone(),
            pid: self.pid(),
            started: self.started.clone(),
            stopping: matches!(self.phase, Phase::Stopping { .. }),
            exit,
        }
    }

    fn record(&self, end: End) -> ExitRecord {
        let mut notes = Vec::new();
        if let Phase::Stopping { grace, killed: true, .. } = self.phase {
            notes.push(format!("killed after a grace period of {} s", grace.as_secs_f32()));
        }
        notes.extend(end.unfinished.map(str::to_owned));
        let exit = end.exit.unwrap_or_else(|e| {
            notes.push(format!("the exit code could not be read: {e}"));
            Exit { code: 255, signal: None }
        });
        ExitRecord {
            v: 1,
            id: self.id.clone(),
            code: exit.code,
            signal: exit.signal,
            reason: ExitReason::of_code(exit.code),
            started: self.started.clone(),
            finished: clock::now(),
            message: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }
}

fn spawn_in(job: &Job, launch: &Launch) -> Result<Child, StartError> {
    job.set_limits(&launch.limits).map_err(StartError::Limits)?;
    job.spawn(&Spawn {
        program: launch.program.clone(),
        argv: launch.argv.clone(),
        command_line: launch.command_line.clone(),
        env: launch.env.clone(),
        cwd: launch.cwd.clone(),
        view: View { overlay: launch.overlay.clone(), ..View::default() },
        ..Spawn::default()
    })
    .map_err(|source| StartError::Spawn { program: launch.program.display().to_string(), source })
}

/// Starts the threads that copy the streams and wait for the end.
fn watch(
    child: &mut Child,
    log: Log,
    job: Arc<Job>,
    ended: impl FnOnce(End) + Send + 'static,
) -> io::Result<()> {
    let log = Arc::new(log);
    let (done, copied) = channel();
    copy_stream(child.stdout.take(), Stream::Stdout, log.clone(), done.clone())?;
    copy_stream(child.stderr.take(), Stream::Stderr, log, done)?;
    let waiter = child.waiter()?;
    small_thread("wait", move || {
        let end = see_to_the_end(waiter, &job, &copied);
        // The owner closes the job when it hears of the end: it must be the last one to hold it.
        drop(job);
        ended(end);
    })
}

fn copy_stream(
    stream: Option<impl Read + Send + 'static>,
    which: Stream,
    log: Arc<Log>,
    done: Sender<()>,
) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    small_thread(which.name(), move || {
        if let Err(e) = log.copy(which, &mut stream) {
            crate::note(format_args!("log {}: {e}", which.name()));
        }
        drop(done);
    })
}

fn see_to_the_end(waiter: Waiter, job: &Job, copied: &Receiver<()>) -> End {
    let exit = waiter.wait();
    let emptied = job.terminate(KILLED_CODE).and_then(|()| job.wait_empty(DRAIN_LIMIT));
    // Both copiers drop their sender at the end of their stream: a disconnect is what we wait for.
    let drained = copied.recv_timeout(DRAIN_LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected);
    let unfinished = match (emptied, drained) {
        (Ok(true), true) => None,
        (Ok(true), false) => Some("a stream was still open when the job was empty"),
        _ => Some("the job was not empty in time"),
    };
    End { exit, unfinished }
}

pub(crate) fn small_thread(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(SMALL_STACK).spawn(body).map(drop)
}

// === impl StartError, StateError ===

impl StartError {
    pub fn refusal(&self) -> Refusal {
        match self {
            StartError::Spawn { .. } => Refusal::Start,
            _ => Refusal::System,
        }
    }
}
