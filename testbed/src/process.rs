//! Long-running programs of a test, with their log, and patience that has an end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::geteuid;

use crate::guard::Guard;
use crate::tools::debian;

/// How much of a log an error quotes.
const QUOTED_LINES: usize = 15;
const PAUSE: Duration = Duration::from_millis(25);

/// A program that runs until its guard ends it; what it says goes to a file.
///
/// ```no_run
/// use testbed::{guard::Guard, process::Daemon};
///
/// let guard = Guard::new("example")?;
/// let mut command = std::process::Command::new("etcd");
/// let mut etcd = Daemon::spawn(&guard, "etcd", &mut command, guard.dir())?;
/// etcd.check()?; // an error that quotes the log's tail once the program has ended
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Daemon {
    name: String,
    log: PathBuf,
    child: Child,
}

// === impl Daemon ===

impl Daemon {
    /// Starts `command` with the guard's mark; its output goes to `NAME.log` in `logs`.
    pub fn spawn(guard: &Guard, name: &str, command: &mut Command, logs: &Path) -> Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log);
        let file = file.with_context(|| format!("create {}", log.display()))?;
        let again = file.try_clone().with_context(|| format!("share {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file).stderr(again);
        let child = guard.mark(command).spawn().with_context(|| format!("start {name}"))?;
        Ok(Self { name: name.to_owned(), log, child })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Fails, with the end of its log, if the program has ended.
    pub fn check(&mut self) -> Result<()> {
        let ended = self.child.try_wait().with_context(|| format!("wait for {}", self.name))?;
        if let Some(status) = ended {
            bail!("{} ended with {status}; the end of its log:\n{}", self.name, self.tail());
        }
        Ok(())
    }

    /// The last lines of the log.
    pub fn tail(&self) -> String {
        tail(&self.log)
    }

    /// Waits for the program's end; its exit code, unless a signal ended it.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().ok().and_then(|status| status.code())
    }

    /// Takes the exit status after the guard has killed the process, so that no zombie stays.
    pub fn reap(&mut self) {
        let _ = self.child.wait();
    }
}

/// The last lines of a log file, as an error quotes them.
pub fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

/// Whom a process has started and not outlived.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let lists: Vec<String> = tasks.flatten().map(of_task).collect();
    lists.iter().flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok())).collect()
}

/// For whoever will need it much later.
pub fn must_be_root() -> Result<()> {
    ensure!(geteuid().is_root(), "the testbed makes namespaces and needs root: run it with sudo");
    Ok(())
}

/// Fails early and clearly where namespaces cannot be made, and installs what is missing of the `(program, Debian
/// package)` pairs. A host that has the programs need not be Debian.
pub(crate) fn prepare_host(needs: &[(&str, &str)]) -> Result<()> {
    must_be_root()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = |program: &str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    let missing: Vec<&str> = needs.iter().filter(|need| !there(need.0)).map(|need| need.1).collect();
    if missing.is_empty() { Ok(()) } else { debian::ensure(&missing) }
}

/// Asks `probe` until it has an answer. After `limit` the error names `what` was awaited.
///
/// ```no_run
/// # use std::{path::Path, time::Duration};
/// let path = Path::new("/run/example.sock");
/// testbed::process::wait_for("the socket", Duration::from_secs(5), || Ok(path.exists().then_some(())))?;
/// # anyhow::Ok(())
/// ```
pub fn wait_for<T>(what: &str, limit: Duration, mut probe: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    loop {
        if let Some(answer) = probe()? {
            return Ok(answer);
        }
        if begun.elapsed() >= limit {
            bail!("waited {} s in vain for {what}", limit.as_secs());
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_ends_is_an_error_with_its_last_words() {
        let guard = Guard::new("unit").expect("guard");
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such thing >&2; exit 7"]);
        let mut daemon = Daemon::spawn(&guard, "failing", &mut command, guard.dir()).expect("spawned");
        let wait = wait_for("its end", Duration::from_secs(10), || {
            daemon.check()?;
            Ok(None::<()>)
        });
        let error = wait.expect_err("it ends").to_string();
        assert!(error.starts_with("failing ended with exit status: 7"), "{error}");
        assert!(error.ends_with("no such thing"), "{error}");
    }

    #[test]
    fn patience_ends_and_says_what_for() {
        let error = wait_for("a miracle", Duration::ZERO, || Ok(None::<()>)).expect_err("none");
        assert_eq!(error.to_string(), "waited 0 s in vain for a miracle");
    }
}
