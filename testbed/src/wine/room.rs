//! A room: a mount and pid namespace with Wine's chroot as its root.
//!
//! The namespace's first process waits on a pipe that we hold. When we close it, or die in whatever way, the kernel
//! kills everything in the room; a shell outside then removes the room's directory. Nothing depends on a destructor.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::processes;

const SCRIPT: &str = include_str!("room.sh");
/// Outlives the room: `$0` is the room's directory, the rest is the command that makes the room.
const KEEPER: &str = r#"unshare --mount --pid --fork "$@"; rm -rf --one-file-system -- "$0""#;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const CLOSING: Duration = Duration::from_secs(30);

/// What a prefix takes from its template instead of from a copy: `C:\windows` is nearly all of its 770 MB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedWindows<'a> {
    pub(crate) prefix: &'a Path,
    pub(crate) template: &'a Path,
}

#[derive(Debug)]
pub(crate) struct Room {
    keeper: Child,
    /// The room's first process, as seen from outside.
    pid: u32,
    namespace: PathBuf,
}

// === impl Room ===

impl Room {
    /// Opens a room with `chroot` as its root. `dir` is scratch space that goes away with the room; `binds` appear
    /// inside at the paths they have outside. `network` is another network than the host's.
    pub(crate) fn open(
        chroot: &Path,
        dir: &Path,
        windows: Option<SharedWindows<'_>>,
        binds: &[PathBuf],
        network: Option<&Path>,
    ) -> Result<Self> {
        let mounts = dir.join("mounts");
        std::fs::create_dir_all(&mounts).with_context(|| format!("create {}", mounts.display()))?;
        let nothing = Path::new("");
        let (prefix, template) =
            windows.map_or((nothing, nothing), |shared| (shared.prefix, shared.template));
        let mut keeper = match network {
            None => Command::new("sh"),
            Some(network) => inside(network),
        };
        keeper.args(["-c", KEEPER]).arg(dir).args(["sh", "-c", SCRIPT, "room"]);
        keeper.args([&mounts, chroot, prefix, template]).args(binds);
        // Ctrl-C on the test run must not reach the shell before it has cleaned up.
        keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::ready(keeper.spawn().context("start the room's shell")?)
    }

    fn ready(mut keeper: Child) -> Result<Self> {
        let mut line = String::new();
        let mut stdout = BufReader::new(keeper.stdout.take().context("keeper has an output")?);
        stdout.read_line(&mut line).context("read from the room's shell")?;
        let Ok(pid) = line.trim().parse() else {
            drop(keeper.stdin.take());
            let mut said = String::new();
            let _ = keeper.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
            let _ = keeper.wait();
            bail!("the room did not open (needs root and overlayfs): {}", said.trim());
        };
        let namespace = namespace_of(pid).with_context(|| format!("pid namespace of {pid}"))?;
        Ok(Self { keeper, pid, namespace })
    }

    /// A command that will run `program` inside, with an environment of its own.
    pub(crate) fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args([
            "--target",
            &self.pid.to_string(),
            "--mount",
            "--pid",
            "--net",
            "--root",
            "--wdns=/root",
            program,
        ]);
        command.env_clear().env("PATH", PATH).env("HOME", "/root").env("LANG", "C.UTF-8");
        // The display drivers complain on standard error about a missing one.
        command.env("XDG_RUNTIME_DIR", "/tmp").env("WINEDEBUG", "-all");
        command
    }

    /// The room's root as outside sees it.
    pub(crate) fn root(&self) -> PathBuf {
        format!("/proc/{}/root", self.pid).into()
    }

    /// Every process in the room but its first, as outside sees them; the dead that await burial do not count.
    pub(crate) fn pids(&self) -> Result<Vec<u32>> {
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc").context("read /proc")? {
            let name = entry.context("read /proc")?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            let lives = pid != self.pid && processes::stat(pid).is_some_and(|stat| stat.state != 'Z');
            if lives && namespace_of(pid).as_ref() == Some(&self.namespace) {
                pids.push(pid);
            }
        }
        Ok(pids)
    }

    /// Ends everything inside and waits until it is gone.
    pub(crate) fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        drop(self.keeper.stdin.take());
        let deadline = Instant::now() + CLOSING;
        while self.keeper.try_wait().context("wait for the room's shell")?.is_none() {
            if Instant::now() > deadline {
                bail!("the room of process {} did not close within {CLOSING:?}", self.pid);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}

fn inside(network: &Path) -> Command {
    let mut shell = Command::new("nsenter");
    let mut option = std::ffi::OsString::from("--net=");
    option.push(network);
    shell.arg(option).arg("sh");
    shell
}

fn namespace_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}
