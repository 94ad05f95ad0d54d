//! What a process is started with: a container's init, or one more beside it.

use std::fmt;
use std::path::PathBuf;

use os::job::{JobLimits, JobName};
use os::process::{Overlay, Spawn};
use os::terminal::Size;
use os::user::Identity;
use os::view::View;
use serde::{Deserialize, Serialize};

/// Everything needed to start one container. Decided by the agent's plan; the holder adds no policy.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    pub id: String,
    pub job: JobName,
    pub program: PathBuf,
    /// The argument vector, for systems that have one.
    pub argv: Vec<String>,
    /// The command line, for systems that have that instead.
    pub command_line: String,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// Where version 1 has what is now in `view`. Only for talking to such a holder; otherwise `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<Overlay>,
    #[serde(default)]
    pub view: View,
    #[serde(default)]
    pub identity: Identity,
    #[serde(default)]
    pub limits: JobLimits,
    /// Whether init has a stdin that an attach can write to; otherwise its reads end at once.
    #[serde(default)]
    pub stdin: bool,
    /// The first attach that ends takes the stdin along.
    #[serde(default)]
    pub stdin_once: bool,
    /// A terminal instead of pipes; the log then has everything as stdout.
    #[serde(default)]
    pub terminal: Option<Size>,
    pub log: PathBuf,
    /// When the log gets another name. `None` leaves that to somebody else, who then asks to reopen it.
    #[serde(default)]
    pub rotate: Option<Rotate>,
    pub exit: PathBuf,
}

/// How large a log may become, as a kubelet's `containerLogMaxSize` and `containerLogMaxFiles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotate {
    pub max_bytes: u64,
    /// All files of one log together, the one that is written among them.
    pub files: u32,
}

/// One more process in a running container: in its job and its view, as whom it likes.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exec {
    pub container: String,
    /// What to call it in messages.
    pub id: String,
    pub program: PathBuf,
    pub argv: Vec<String>,
    pub command_line: String,
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    #[serde(default)]
    pub identity: Identity,
    /// Whether the client's stdin reaches it; otherwise its reads end at once.
    #[serde(default)]
    pub stdin: bool,
    #[serde(default)]
    pub terminal: Option<Size>,
    /// How long it may run. Then it is killed, and with it what it left behind, as far as that can be told: on Windows
    /// all that it started; on Linux what is still in its session, or without root all that it started. Who made a
    /// session of its own escapes there, and ends with the container.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

// === impl Launch ===

impl Launch {
    pub(crate) fn spawn(&self) -> Spawn {
        let mut view = self.view.clone();
        if view.overlay.is_none() {
            view.overlay.clone_from(&self.overlay);
        }
        Spawn {
            program: self.program.clone(),
            argv: self.argv.clone(),
            command_line: self.command_line.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            view,
            identity: self.identity.clone(),
            stdin: self.stdin,
            terminal: self.terminal,
        }
    }

    /// The same as version 1 has it, if it has all of it; otherwise what it lacks.
    pub(crate) fn in_words_of_version_1(mut self) -> Result<Launch, &'static str> {
        if !self.view.binds.is_empty() || self.view.scratch_bytes.is_some() {
            return Err("mounts");
        }
        if self.identity != Identity::Own {
            return Err("accounts");
        }
        if self.stdin || self.terminal.is_some() {
            return Err("stdin and terminals");
        }
        if self.rotate.is_some() {
            return Err("rotation of logs");
        }
        self.overlay = self.view.overlay.take().or(self.overlay);
        Ok(self)
    }
}

/// With nothing in it: to be filled.
impl Default for Launch {
    fn default() -> Launch {
        Launch {
            id: String::new(),
            job: JobName { parent: String::new(), id: String::new() },
            program: PathBuf::new(),
            argv: Vec::new(),
            command_line: String::new(),
            env: Vec::new(),
            cwd: PathBuf::new(),
            overlay: None,
            view: View::default(),
            identity: Identity::default(),
            limits: JobLimits::default(),
            stdin: false,
            stdin_once: false,
            terminal: None,
            log: PathBuf::new(),
            rotate: None,
            exit: PathBuf::new(),
        }
    }
}

impl fmt::Debug for Launch {
    /// Without the environment and the arguments: both may carry secrets, and this ends up in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("id", &self.id)
            .field("program", &self.program)
            .field("cwd", &self.cwd)
            .field("variables", &self.env.len())
            .finish_non_exhaustive()
    }
}

// === impl Exec ===

impl Exec {
    pub(crate) fn spawn(&self) -> Spawn {
        Spawn {
            program: self.program.clone(),
            argv: self.argv.clone(),
            command_line: self.command_line.clone(),
            env: self.env.clone(),
            cwd: self.cwd.clone(),
            // An empty one: what the job's first process sees.
            view: View::default(),
            identity: self.identity.clone(),
            stdin: self.stdin,
            terminal: self.terminal,
        }
    }
}

impl fmt::Debug for Exec {
    /// As little as [`Launch`] shows, for the same reason.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exec")
            .field("container", &self.container)
            .field("id", &self.id)
            .field("program", &self.program)
            .field("variables", &self.env.len())
            .finish_non_exhaustive()
    }
}
