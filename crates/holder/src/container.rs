//! One container's life in the holder: a job, an init process, two streams into a log, and an end.
//!
//! States refuse: running → stopping → ended, and nothing goes back. When init ends the rest of the job is
//! killed and the end is published once the job is empty (HP-07).

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use os::channel::Connection;
use os::job::{Job, JobLimits, JobStats};
use os::process::{Child, Exit};

use crate::attach::Attached;
use crate::audience::Audience;
use crate::exit::{ExitReason, ExitRecord, KILLED_CODE};
use crate::input::Input;
use crate::log::Log;
use crate::protocol::{Answer, Exec, Held, Launch, Refusal};
use crate::server::Reply;
use crate::{clock, fail};
pub use watch::End;
pub(crate) use watch::small_thread;

mod watch;

/// How long a killed job may take to become empty, and its streams to end, before the exit is published
/// with a warning instead of waiting on.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// How long after a kill that failed the next one is tried.
pub(crate) const KILL_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Container {
    id: String,
    exit_file: PathBuf,
    /// Until the end is recorded.
    job: Option<Arc<Job>>,
    /// Whether init has ended; locked while a process is started or the rest is killed, so that none slips in between.
    over: Arc<Mutex<bool>>,
    child: Arc<Child>,
    input: Option<Arc<Input>>,
    audience: Arc<Audience>,
    log: Arc<Log>,
    started: String,
    phase: Phase,
    waiting: Vec<Waiting>,
}

/// Somebody who asked, and a sign that they still listen.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) reply: Sender<Reply>,
    pub(crate) listening: Weak<()>,
    pub(crate) client: Weak<Connection>,
}

#[derive(Debug)]
enum Phase {
    Running,
    Stopping { kill_at: Instant, grace: Duration, killed: bool },
    Ended(ExitRecord),
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

/// Why something was not done to a container.
#[derive(Debug, thiserror::Error)]
pub enum UseError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("{program}: {source}")]
    Spawn { program: String, source: os::process::SpawnError },
    #[error("set the limits of {id}: {source}")]
    Limits { id: String, source: io::Error },
    #[error("reopen the log of {id}: {source}")]
    Log { id: String, source: io::Error },
}

// === impl Container ===

impl Container {
    /// Starts init inside a fresh job. `ended` is called once, from another thread, when all is over.
    ///
    /// Must be called from a thread that lives as long as the container: its end takes init along.
    pub fn start(launch: Launch, ended: impl FnOnce(End) + Send + 'static) -> Result<Container, StartError> {
        fail::point("hold-log-open");
        let log = Log::open(&launch.log, launch.rotate)
            .map_err(|source| StartError::Log { path: launch.log.display().to_string(), source })?;
        fail::point("hold-log-opened");
        let (job, mut child) = spawn_init(&launch)?;
        let (job, log, over) = (Arc::new(job), Arc::new(log), Arc::new(Mutex::new(false)));
        let (started, audience) = (clock::now(), Arc::new(Audience::default()));
        let watched = watch::Watched { job: job.clone(), log: log.clone(), audience: audience.clone() };
        if let Err(e) = watched.begin(&mut child, over.clone(), ended) {
            // Best effort: the start already failed and says so; an empty job is removed on drop.
            drop(job.terminate(KILLED_CODE));
            drop(job.wait_empty(DRAIN_LIMIT));
            return Err(StartError::Thread(e));
        }
        let input = child.stdin.take();
        let input = input.map(|file| Input::new(file, launch.terminal.is_some(), launch.stdin_once));
        // The rest of the launch is dropped here: environments hold secrets and cost memory.
        Ok(Container {
            id: launch.id,
            exit_file: launch.exit,
            job: Some(job),
            over,
            child: Arc::new(child),
            input: input.map(Arc::new),
            audience,
            log,
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
            Phase::Ended(_) => return Err(self.refused("has ended already")),
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
                fail::point("hold-stop-asked");
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
                fail::point("hold-killed");
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

    /// Starts one more process in the job. Like [`Container::start`], from a thread that lives as long.
    pub(crate) fn exec(&self, exec: &Exec) -> Result<(Child, Weak<Job>), UseError> {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        let job = self.job.as_ref().filter(|_| !*over).ok_or_else(|| self.refused("is not running"))?;
        fail::point("hold-exec-spawn");
        let child = job.spawn(&exec.spawn());
        let child = child
            .map_err(|source| UseError::Spawn { program: exec.program.display().to_string(), source })?;
        fail::point("hold-exec-spawned");
        Ok((child, Arc::downgrade(job)))
    }

    pub(crate) fn attach(&self, stdin: bool) -> Result<Attached, StateError> {
        if stdin && self.input.is_none() {
            return Err(self.refused("was started without a stdin"));
        }
        let queue = self.audience.join().ok_or_else(|| self.refused("is not running"))?;
        fail::point("hold-attached");
        Ok(Attached {
            child: self.child.clone(),
            input: self.input.clone().filter(|_| stdin),
            audience: self.audience.clone(),
            queue,
        })
    }

    pub fn update(&self, limits: &JobLimits) -> Result<(), UseError> {
        let job = self.job.as_ref().ok_or_else(|| self.refused("is not running"))?;
        let set = job.set_limits(limits);
        fail::point("hold-limits-set");
        set.map_err(|source| UseError::Limits { id: self.id.clone(), source })
    }

    pub fn reopen_log(&self) -> Result<(), UseError> {
        if !self.is_running() {
            return Err(self.refused("is not running").into());
        }
        let reopened = self.log.reopen();
        fail::point("hold-log-reopened");
        reopened.map_err(|source| UseError::Log { id: self.id.clone(), source })
    }

    /// Answers when the container has ended.
    pub(crate) fn wait(&mut self, waiting: Waiting) {
        match &self.phase {
            // A client that went away meanwhile is no error.
            Phase::Ended(record) => drop(waiting.reply.send(Answer::Ended(record.clone()).into())),
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
        fail::point("hold-exit-write");
        let written = record.write(&self.exit_file);
        fail::point("hold-exit-written");
        self.phase = Phase::Ended(record.clone());
        for waiting in self.waiting.drain(..) {
            drop(waiting.reply.send(Answer::Ended(record.clone()).into()));
        }
        self.audience.close();
        self.input = None;
        fail::point("hold-job-close");
        let closed = self.job.take().and_then(Arc::into_inner).map_or(Ok(()), Job::close);
        fail::point("hold-job-closed");
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
            reason: ExitReason::of_end(exit.code, self.memory_limit_hits()),
            started: self.started.clone(),
            finished: clock::now(),
            message: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }

    /// A host that does not count them has none.
    fn memory_limit_hits(&self) -> u64 {
        self.job.as_ref().and_then(|job| job.memory_limit_hits().ok()).unwrap_or_default()
    }

    fn refused(&self, state: &'static str) -> StateError {
        StateError { id: self.id.clone(), state }
    }
}

/// A job with limits and init in it; or nothing.
fn spawn_init(launch: &Launch) -> Result<(Job, Child), StartError> {
    fail::point("hold-job-create");
    let job =
        Job::create(&launch.job).map_err(|source| StartError::Job { id: launch.job.id.clone(), source })?;
    fail::point("hold-job-created");
    job.set_limits(&launch.limits).map_err(StartError::Limits)?;
    fail::point("hold-spawn");
    let child = job.spawn(&launch.spawn());
    let child = child
        .map_err(|source| StartError::Spawn { program: launch.program.display().to_string(), source })?;
    fail::point("hold-spawned");
    Ok((job, child))
}

// === impl StartError, UseError ===

impl StartError {
    pub fn refusal(&self) -> Refusal {
        match self {
            StartError::Spawn { .. } => Refusal::Start,
            _ => Refusal::System,
        }
    }
}

impl UseError {
    pub fn refusal(&self) -> Refusal {
        match self {
            UseError::State(_) => Refusal::State,
            UseError::Spawn { .. } => Refusal::Start,
            UseError::Limits { .. } | UseError::Log { .. } => Refusal::System,
        }
    }
}
