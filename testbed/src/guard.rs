//! Whatever happens to a test, the host looks afterwards as it did before.
//!
//! A test may end well, panic, be stopped with Ctrl-C or be killed. A destructor sees only the first two, so every
//! [`Guard`] is backed by a small process of its own (`guard/undo.sh`: a shell is on every host and needs no
//! building, which a helper program of this crate would in the tests of other crates). It holds the read end of a
//! pipe whose write end closes with the owner in every case, and then undoes the journal the owner wrote.
//!
//! What is made is registered *before* it is made. Processes need no registration: they carry the guard's mark in
//! their environment, so that their children are found too. The pipe is inherited by a fork and closed by its
//! exec, so the guard cannot look before the mark is there.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::tools::cache_dir;

mod traces;

pub use traces::traces;

const UNDO: &str = include_str!("guard/undo.sh");
const JOURNAL: &str = "journal";
const LOG: &str = "guard.log";
pub(crate) const MARK: &str = "PORTHOLE_TESTBED_GUARD";

/// Owns what a test makes on the host, and a directory for its files.
///
/// ```no_run
/// use testbed::guard::{Guard, Resource};
///
/// let mut guard = Guard::new("example")?;
/// guard.register(&Resource::Link("ph-example".into()))?;
/// // … `ip link add ph-example …`
/// let mut sleeper = std::process::Command::new("sleep");
/// let mut sleeper = guard.mark(&mut sleeper).arg("600").spawn()?;
/// guard.teardown()?; // also done by drop, by a panic, by Ctrl-C and by kill -9
/// sleeper.wait()?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Guard {
    id: String,
    dir: PathBuf,
    journal: File,
    /// Also held by the guard's process; a sweep spares what is locked.
    lock: Option<File>,
    keeper: Option<(Child, ChildStdin)>,
}

/// Something on the host that the guard removes again. Removal is in reverse order of registration, after every
/// marked process has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A process that could not be marked. The start time keeps a reused pid safe.
    Process { pid: u32, start: u64 },
    /// A network link in the host's network namespace.
    Link(String),
    /// A mount point, also the file that a namespace is bound to.
    Mount(PathBuf),
    /// A cgroup directory with all below it.
    Cgroup(PathBuf),
    /// A directory outside [`Guard::dir`].
    Directory(PathBuf),
}

// === impl Resource ===

impl Resource {
    /// The process that has this pid now; an error if none has or if it only waits to be reaped.
    pub fn process(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let start = start_time(&stat).with_context(|| format!("process {pid} has ended"))?;
        Ok(Self::Process { pid, start })
    }

    fn line(&self) -> String {
        match self {
            Self::Process { pid, start } => format!("process {pid} {start}\n"),
            Self::Link(name) => format!("link {name}\n"),
            Self::Mount(path) => format!("mount {}\n", path.display()),
            Self::Cgroup(path) => format!("cgroup {}\n", path.display()),
            Self::Directory(path) => format!("directory {}\n", path.display()),
        }
    }
}

fn start_time(stat: &str) -> Option<u64> {
    // The name may hold spaces and brackets; the state, field 3, follows the last bracket.
    let (_, rest) = stat.rsplit_once(") ")?;
    if rest.starts_with(['Z', 'X']) {
        return None;
    }
    rest.split_whitespace().nth(19)?.parse().ok()
}

// === impl Guard ===

impl Guard {
    /// A guard with a directory of its own in the cache, named after `name`. What guards of earlier runs could
    /// not remove (their own process was killed too) is removed on the way.
    pub fn new(name: &str) -> Result<Self> {
        let runs = runs_dir();
        fs::create_dir_all(&runs).with_context(|| format!("create {}", runs.display()))?;
        sweep(&runs);
        let id = fresh_id()?;
        let dir = runs.join(format!("{name}-{id}"));
        Self::create(id, dir)
    }

    /// A guard whose directory is known beforehand, for what shall outlive its maker.
    pub fn at(dir: &Path) -> Result<Self> {
        ensure!(!dir.exists(), "{} is there already", dir.display());
        Self::create(fresh_id()?, dir.to_owned())
    }

    fn create(id: String, dir: PathBuf) -> Result<Self> {
        let parent = dir.parent().context("a guard's directory has a parent")?;
        // Under its final name the directory is complete and locked: another process's sweep spares it.
        let half = parent.join(format!(".half-{id}"));
        fs::create_dir_all(&half).with_context(|| format!("create {}", half.display()))?;
        let log = File::create(half.join(LOG)).context("create the guard's log")?;
        log.lock().context("lock the guard's log")?;
        let mut journal = File::create(half.join(JOURNAL)).context("create the journal")?;
        journal.write_all(format!("guard {id}\n").as_bytes()).context("write the journal")?;
        fs::rename(&half, &dir).with_context(|| format!("create {}", dir.display()))?;
        let lock = Some(log.try_clone().context("keep the guard's lock")?);
        let mut child = keeper(&dir, log, Stdio::piped())?;
        let pipe = child.stdin.take().context("the guard's pipe")?;
        Ok(Self { id, dir, journal, lock, keeper: Some((child, pipe)) })
    }

    /// Eight hexadecimal digits that no other guard has: part of names that are visible on the whole host.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A directory for files, removed at the end.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Promises that `resource` will be removed. Call it before making the resource.
    pub fn register(&self, resource: &Resource) -> Result<()> {
        let line = resource.line();
        ensure!(line.matches('\n').count() == 1, "a resource's name cannot hold a line end: {line:?}");
        (&self.journal).write_all(line.as_bytes()).with_context(|| format!("write {}", self.dir.display()))
    }

    /// Marks a command: the process and all that it starts end with this guard. Ctrl-C does not reach it, so that
    /// the guard decides the order.
    pub fn mark<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env(MARK, &self.id).process_group(0)
    }

    /// Removes everything now and says what could not be removed.
    pub fn teardown(&mut self) -> Result<()> {
        let Some((mut child, pipe)) = self.keeper.take() else { return Ok(()) };
        drop(pipe);
        if report(&mut child, &self.dir)? {
            return Ok(());
        }
        // The guard's process itself was killed: its work is ours.
        self.lock = None;
        undo(&self.dir)
    }

    /// Lets everything stay; [`undo`] with the guard's directory removes it later.
    pub fn release(&mut self) -> Result<()> {
        let Some((mut child, mut pipe)) = self.keeper.take() else { return Ok(()) };
        pipe.write_all(b"keep\n").context("tell the guard to let everything stay")?;
        child.wait().context("wait for the guard")?;
        Ok(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = self.teardown() {
            eprintln!("testbed guard {}: {error:#}", self.id);
        }
    }
}

/// Undoes the journal in `dir`, whoever wrote it, and removes `dir`. Waits for a guard that is still at work.
pub fn undo(dir: &Path) -> Result<()> {
    let Ok(log) = File::options().append(true).open(dir.join(LOG)) else { return Ok(()) };
    log.lock().with_context(|| format!("lock {}", dir.join(LOG).display()))?;
    if !dir.join(JOURNAL).exists() {
        return Ok(());
    }
    let mut child = keeper(dir, log, Stdio::null())?;
    ensure!(report(&mut child, dir)?, "the guard of {} was killed", dir.display());
    Ok(())
}

/// Where guards keep their directories.
pub(crate) fn runs_dir() -> PathBuf {
    cache_dir().join("run")
}

fn keeper(dir: &Path, log: File, stdin: Stdio) -> Result<Child> {
    let mut sh = Command::new("sh");
    sh.args(["-c", UNDO, "guard"]).arg(dir.join(JOURNAL));
    // The log is locked: the lock lives in the guard's copy of it until its work is done.
    sh.stdin(stdin).stdout(Stdio::piped()).stderr(log);
    sh.current_dir("/").env_remove(MARK).process_group(0).spawn().context("start the guard (sh)")
}

/// Waits for a guard; false if it was killed, an error with its words if something could not be removed.
fn report(child: &mut Child, dir: &Path) -> Result<bool> {
    let mut said = String::new();
    child.stdout.take().context("the guard's report")?.read_to_string(&mut said)?;
    let status = child.wait().context("wait for the guard")?;
    match status.code() {
        Some(0) => Ok(true),
        None => Ok(false),
        Some(_) => bail!("could not remove everything of {}:\n{}", dir.display(), said.trim_end()),
    }
}

fn sweep(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for dir in entries.flatten().map(|entry| entry.path()) {
        let hidden = dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || !abandoned(&dir) {
            continue;
        }
        if let Err(error) = undo(&dir) {
            eprintln!("testbed guard: {error:#}");
        }
    }
}

fn abandoned(dir: &Path) -> bool {
    File::options().append(true).open(dir.join(LOG)).is_ok_and(|log| log.try_lock().is_ok())
}

fn fresh_id() -> Result<String> {
    let uuid = random_uuid()?;
    Ok(uuid[..8].to_owned())
}

/// A random UUID from the kernel, as text.
pub(crate) fn random_uuid() -> Result<String> {
    let path = "/proc/sys/kernel/random/uuid";
    Ok(fs::read_to_string(path).with_context(|| format!("read {path}"))?.trim().to_owned())
}

#[cfg(test)]
mod tests;
