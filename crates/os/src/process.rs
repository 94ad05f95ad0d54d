//! Processes: how one is described, started with its stdio, asked to stop and waited for.
//!
//! Containers start through [`Job::spawn`](crate::job::Job::spawn); [`detach`] starts the one kind of process that
//! must outlive us, a holder.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::job::Job;
use crate::sys;
use crate::terminal::Size;
use crate::user::Identity;
pub use crate::view::Overlay;
use crate::view::View;

/// What to start. Windows takes `command_line` as it is, Linux takes `argv`; both take `program` as the file to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawn {
    pub program: PathBuf,
    pub argv: Vec<String>,
    pub command_line: String,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// What the first process of a job brings is what all its processes see: a later one has the same or an empty view.
    #[serde(default)]
    pub view: View,
    #[serde(default)]
    pub identity: Identity,
    /// Whether stdin is a pipe; otherwise reads end at once.
    pub stdin: bool,
    /// A terminal of that size instead of pipes: [`Child::stdout`] carries all it shows, stderr is not there, and stdin
    /// is what is typed.
    #[serde(default)]
    pub terminal: Option<Size>,
}

/// A started process; its pipes are taken by whoever pumps them.
#[derive(Debug)]
pub struct Child {
    pub stdin: Option<File>,
    pub stdout: Option<File>,
    pub stderr: Option<File>,
    pub(crate) process: sys::process::Process,
}

/// Waits for one child's end, on a thread of its own.
#[derive(Debug)]
pub struct Waiter(sys::process::Waiter);

/// How a process ended. On Linux a process killed by signal n has code 128+n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: u32,
    pub signal: Option<i32>,
}

/// The step of starting a process that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnStep {
    Argument,
    Pipe,
    Fork,
    Job,
    Namespace,
    IdMap,
    Scratch,
    Mount,
    Bind,
    Terminal,
    Stdio,
    Identity,
    Chdir,
    Exec,
}

/// Why a process did not start.
#[derive(Debug)]
pub struct SpawnError {
    pub step: SpawnStep,
    pub source: io::Error,
}

/// A process that outlives us, and the read end of its stdout: it writes `ready\n` and closes it.
#[derive(Debug)]
pub struct Detached {
    pub pid: u32,
    pub ready: File,
}

// === impl Child ===

impl Child {
    /// The process id as this host's tools show it.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn waiter(&self) -> io::Result<Waiter> {
        self.process.waiter().map(Waiter)
    }

    /// SIGTERM on Linux, the shutdown event on Windows. A process that has ended already is no error.
    pub fn request_stop(&self) -> io::Result<()> {
        self.process.request_stop()
    }

    /// Ends this one process, not its job: for an exec'd process whose caller went away.
    pub fn kill(&self) -> io::Result<()> {
        self.process.kill()
    }

    /// Ends this process and what it left behind in its job, as far as that can be told. On Linux that is its session;
    /// what made a session of its own stays. On Windows it is all that it started, by a job inside the job.
    pub fn kill_session(&self, job: &Job) -> io::Result<()> {
        self.process.kill_session(|| job.processes())
    }
}

// === impl Waiter ===

impl Waiter {
    pub fn wait(self) -> io::Result<Exit> {
        self.0.wait()
    }
}

// === impl SpawnStep ===

impl SpawnStep {
    pub const ALL: [Self; 14] = [
        Self::Argument,
        Self::Pipe,
        Self::Fork,
        Self::Job,
        Self::Namespace,
        Self::IdMap,
        Self::Scratch,
        Self::Mount,
        Self::Bind,
        Self::Terminal,
        Self::Stdio,
        Self::Identity,
        Self::Chdir,
        Self::Exec,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argument => "read the start request",
            Self::Pipe => "make pipes",
            Self::Fork => "make a process",
            Self::Job => "enter the job",
            Self::Namespace => "make namespaces",
            Self::IdMap => "map the user",
            Self::Scratch => "mount the scratch space",
            Self::Mount => "mount the image",
            Self::Bind => "mount the volumes",
            Self::Terminal => "make a terminal",
            Self::Stdio => "connect stdio",
            Self::Identity => "become the account",
            Self::Chdir => "enter the working directory",
            Self::Exec => "start program",
        }
    }
}

impl fmt::Display for SpawnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl SpawnError ===

impl SpawnError {
    pub(crate) fn new(step: SpawnStep, source: io::Error) -> Self {
        Self { step, source }
    }

    /// For `map_err`: names the step that the operating system refused.
    pub(crate) fn at(step: SpawnStep) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { step, source }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.source)
    }
}

// The operating system's words are in Display already; naming them as source would print them twice.
impl Error for SpawnError {}

/// Gives back memory that starting needed: for a program that will now mostly wait.
pub fn rest() {
    sys::process::rest();
}

/// Starts a program that outlives us: own session, working directory `/`, stdin empty, no handle of ours but `stderr`.
pub fn detach(program: &Path, args: &[OsString], stderr: File) -> io::Result<Detached> {
    sys::detach::detach(program, args, stderr)
}

/// What Ctrl-C does, aimed at one process: for tests and tools.
pub fn send_interrupt(pid: u32) -> io::Result<()> {
    sys::process::send_interrupt(pid)
}

/// Whether a process of that number runs; one that has ended and only waits to be reaped does not.
pub fn is_running(pid: u32) -> bool {
    sys::process::is_running(pid)
}

/// For a program that may become the parent of orphans and cares about none: ended children vanish by themselves.
pub fn forget_children() -> io::Result<()> {
    sys::process::forget_children()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_by_its_step() {
        let error = SpawnError::new(SpawnStep::Exec, io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(error.to_string(), "start program: entity not found");
    }

    #[test]
    fn each_step_has_its_own_words() {
        let mut words: Vec<_> = SpawnStep::ALL.iter().map(|step| step.as_str()).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), SpawnStep::ALL.len());
    }
}
