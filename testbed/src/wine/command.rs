//! Starting a Windows program: its arguments and streams, its end, its exit code.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{LOADER, Wine, processes};

/// How long output may still come after a program's end: a process that it left behind may hold the streams open.
const LATE_OUTPUT: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(5);

/// A Windows program to be started in a [`Wine`].
#[derive(Debug)]
pub struct WineCommand<'a> {
    pub(super) wine: &'a Wine,
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<String>,
}

/// A started program, with the streams that are piped. It is not killed when this is dropped, only with its [`Wine`].
#[derive(Debug)]
pub struct Running {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
    program: String,
    child: Child,
}

/// What a program left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The low eight bits of the exit code, all that Wine hands out ([`WineCommand::exit_code`] sees the whole);
    /// 128 + n for a process killed by signal n.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

// === impl WineCommand ===

impl<'a> WineCommand<'a> {
    pub(super) fn new(wine: &'a Wine, program: &OsStr) -> Self {
        Self { wine, program: program.to_owned(), args: Vec::new(), env: Vec::new(), dir: None }
    }

    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// The working directory, by its path outside; the default is `Z:\root`.
    #[must_use]
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = Some(dir.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Starts it with all three streams piped.
    pub fn spawn(self) -> Result<Running> {
        self.check_visible()?;
        self.wine.serve()?;
        let program = self.program.to_string_lossy().into_owned();
        let mut command = self.nsenter();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {program} under Wine"))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Running { stdin, stdout, stderr, program, child })
    }

    /// Starts it with nothing to read; what it says is appended to a file.
    pub fn logged(self, log: &Path) -> Result<Running> {
        self.check_visible()?;
        self.wine.serve()?;
        let program = self.program.to_string_lossy().into_owned();
        let file = File::options().create(true).append(true).open(log);
        let file = file.with_context(|| format!("open {}", log.display()))?;
        let again = file.try_clone().with_context(|| format!("share {}", log.display()))?;
        let mut command = self.nsenter();
        command.stdin(Stdio::null()).stdout(file).stderr(again);
        let child = command.spawn().with_context(|| format!("start {program} under Wine"))?;
        Ok(Running { stdin: None, stdout: None, stderr: None, program, child })
    }

    /// Runs it to its end, with nothing to read.
    pub fn output(self, timeout: Duration) -> Result<Output> {
        self.spawn()?.output(timeout)
    }

    pub(super) fn words(&self) -> Vec<String> {
        let program = Path::new(&self.program);
        let program = match program.is_absolute() {
            true => self.wine.windows_path(program),
            false => self.program.to_string_lossy().into_owned(),
        };
        std::iter::once(program)
            .chain(self.args.iter().map(|arg| arg.to_string_lossy().into_owned()))
            .collect()
    }

    fn nsenter(&self) -> Command {
        let mut command = self.wine.enter(LOADER);
        if let Some(dir) = &self.dir {
            // The loader takes its working directory from the process that starts it.
            command = self.wine.enter("/usr/bin/env");
            command.args(["-C", dir, LOADER]);
        }
        command.arg(&self.program).args(&self.args).envs(self.env.iter().cloned());
        command
    }

    /// Wine would only say that it cannot find the file.
    pub(super) fn check_visible(&self) -> Result<()> {
        let paths = [Some(Path::new(&self.program)), self.dir.as_deref().map(Path::new)];
        for path in paths.into_iter().flatten().filter(|path| path.is_absolute()) {
            let inside = self.wine.room.root().join(path.strip_prefix("/").unwrap_or(path));
            let binds = &self.wine.binds;
            ensure!(inside.exists(), "{} is not visible inside; bound are {binds:?}", path.display());
        }
        Ok(())
    }
}

// === impl Running ===

impl Running {
    /// The Unix process id of the Windows process, as outside sees it; None when it has ended.
    pub fn pid(&self) -> Option<u32> {
        children_of(self.child.id()).first().copied()
    }

    pub fn try_wait(&mut self) -> Result<Option<i32>> {
        let status = self.child.try_wait().with_context(|| format!("wait for {}", self.program))?;
        Ok(status.map(code_of))
    }

    /// The exit code (see [`Output::code`]), or None if it still runs after `timeout`.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<i32>> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.try_wait()? {
                None if Instant::now() < deadline => std::thread::sleep(POLL),
                ended => return Ok(ended),
            }
        }
    }

    /// Kills the Windows process and waits until it is gone; its children live on.
    pub fn kill(&mut self) -> Result<()> {
        while self.try_wait()?.is_none() {
            // Entering forks: right after the start the child may not be there yet.
            for pid in children_of(self.child.id()) {
                processes::kill(pid)?;
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Closes its input, reads its output and waits for its end; after `timeout` it is killed and an error.
    pub fn output(mut self, timeout: Duration) -> Result<Output> {
        drop(self.stdin.take());
        let stdout = self.stdout.take().map(Collector::start).context("standard output was taken")?;
        let stderr = self.stderr.take().map(Collector::start).context("standard error was taken")?;
        let code = self.wait(timeout)?;
        if code.is_none() {
            self.kill()?;
        }
        let (stdout, stderr) = (stdout.text(), stderr.text());
        let program = &self.program;
        match code {
            Some(code) => Ok(Output { code, stdout, stderr }),
            None => bail!("{program} still ran after {timeout:?} and was killed; it said: {stdout}{stderr}"),
        }
    }
}

/// Reads a stream on a thread of its own, so that what came can be taken although the stream stays open.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

// === impl Collector ===

impl Collector {
    fn start(mut stream: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = mpsc::channel::<()>();
        let shared = Arc::clone(&bytes);
        std::thread::spawn(move || {
            let _end = end;
            let mut piece = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                shared.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..count]);
            }
        });
        Self { bytes, ended }
    }

    fn text(self) -> String {
        let _ = self.ended.recv_timeout(LATE_OUTPUT);
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn children_of(parent: u32) -> Vec<u32> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    pids.filter(|pid| processes::stat(*pid).is_some_and(|stat| stat.parent == parent)).collect()
}
