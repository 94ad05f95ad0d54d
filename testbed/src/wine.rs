//! Windows executables under Wine 10, each [`Wine`] a machine of its own: prefix, processes, file system.
//!
//! What a test names with [`WineBuilder::bind`] has inside the path it has outside, and Windows programs see it as
//! `Z:\that\path`. The network is the host's unless it is given another one. Processes live on when the program that started them ends, as on
//! Windows; all of them end when the `Wine` is dropped, when the test panics, and when the test process is killed.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

pub use command::{Output, Running, WineCommand};
pub use exits::Exits;
pub use processes::Process;
pub use registry::RegistryValue;
pub use sim::Sim;

use crate::tools::{cache_dir, progress, wine as installed};
use registry::Entry;
use room::{Room, SharedWindows};

mod command;
mod exit_code;
mod exits;
mod paths;
mod processes;
mod registry;
pub(crate) mod room;
mod sim;

const LOADER: &str = "/usr/lib/wine/wine64";
const SERVER: &str = "/usr/lib/wine/wineserver64";
const SHUTDOWN: Duration = Duration::from_secs(20);
const IMPORT: Duration = Duration::from_secs(60);

/// A running Windows machine of Wine's making.
///
/// ```no_run
/// use std::time::Duration;
/// use testbed::wine::Wine;
///
/// let wine = Wine::builder().bind("/tmp/exes").registry(r"HKLM\SOFTWARE\Try", "UBR", 4046).start()?;
/// let output = wine.run("/tmp/exes/hello.exe", ["one", "two"], Duration::from_secs(20))?;
/// assert_eq!(output.code, 0, "{}", output.stderr);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Wine {
    room: Room,
    prefix: PathBuf,
    binds: Vec<PathBuf>,
    env: Vec<(OsString, OsString)>,
    /// Whether we have started a Wine server that waits for the next program.
    served: Mutex<bool>,
}

/// How a [`Wine`] is to be; nothing happens before [`WineBuilder::start`].
#[derive(Debug, Clone, Default)]
pub struct WineBuilder {
    binds: Vec<PathBuf>,
    env: Vec<(OsString, OsString)>,
    dlls: Vec<PathBuf>,
    registry: Vec<Entry>,
    network: Option<PathBuf>,
}

// === impl WineBuilder ===

impl WineBuilder {
    /// Makes a directory of the host visible at the same path (to Windows programs: `Z:\…`).
    #[must_use]
    pub fn bind(mut self, dir: impl Into<PathBuf>) -> Self {
        self.binds.push(dir.into());
        self
    }

    /// Sets a variable for every program.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Installs a DLL into `system32`, where it wins over Wine's own of that name.
    #[must_use]
    pub fn dll(mut self, path: impl Into<PathBuf>) -> Self {
        self.dlls.push(path.into());
        self
    }

    /// Sets a registry value, e.g. `(r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "UBR", 4046)`.
    #[must_use]
    pub fn registry(mut self, key: &str, name: &str, value: impl Into<RegistryValue>) -> Self {
        self.registry.push(Entry::new(key, name, value.into()));
        self
    }

    /// Puts the machine into this network, e.g. [`crate::net::Netns::path`], which must live as long.
    #[must_use]
    pub fn network(mut self, namespace: impl Into<PathBuf>) -> Self {
        self.network = Some(namespace.into());
        self
    }

    /// Makes the prefix and its file system. The machine boots with its first program (half a second).
    pub fn start(self) -> Result<Wine> {
        for dir in &self.binds {
            ensure!(
                dir.is_absolute() && dir.is_dir(),
                "cannot bind {}: no absolute directory",
                dir.display()
            );
        }
        let dir = instance_dir()?;
        let prefix = dir.path().join("prefix");
        let template = installed::ensure_prefix()?;
        copy_prefix(&template, &prefix)?;
        let binds: Vec<_> = std::iter::once(prefix.clone()).chain(self.binds.iter().cloned()).collect();
        let windows = SharedWindows { prefix: &prefix, template: &template };
        // From here on the room's shell removes the directory: also when this process is killed.
        let room =
            Room::open(&installed::ensure()?, &dir.keep(), Some(windows), &binds, self.network.as_deref())?;
        let env = [vec![("WINEDLLOVERRIDES".into(), overrides(&self.dlls)?)], self.env].concat();
        let wine = Wine { room, prefix, binds, env, served: Mutex::new(false) };
        wine.install(&self.dlls)?;
        wine.import(&self.registry)?;
        Ok(wine)
    }
}

// === impl Wine ===

impl Wine {
    /// A machine with nothing special: the same as `Wine::builder().start()`.
    pub fn new() -> Result<Self> {
        Self::builder().start()
    }

    pub fn builder() -> WineBuilder {
        WineBuilder::default()
    }

    /// A program to start: the path it has outside, a Windows path, or one of Wine's own (`cmd`, `reg`).
    pub fn command(&self, program: impl AsRef<OsStr>) -> WineCommand<'_> {
        WineCommand::new(self, program.as_ref())
    }

    /// Runs a program to its end. One that is still there after `timeout` is killed and is an error.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
        timeout: Duration,
    ) -> Result<Output> {
        self.command(program).args(args).output(timeout)
    }

    /// The prefix: registry files and `drive_c` (without `windows`, see [`Wine::host_path`]). Gone after drop.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// How Windows programs name a path of the host.
    pub fn windows_path(&self, unix: impl AsRef<Path>) -> String {
        paths::to_windows(&self.prefix, unix.as_ref())
    }

    /// Where a file that Windows programs name (`C:\…`, `Z:\…`) can be looked at from outside, while this lives.
    /// Letter case does not matter, as on Windows.
    pub fn host_path(&self, windows: &str) -> Result<PathBuf> {
        paths::to_host(&self.room.root(), &self.prefix, windows)
    }

    /// The Windows processes, seen from outside: what Wine runs for itself is among them.
    pub fn processes(&self) -> Result<Vec<Process>> {
        processes::windows_processes(&self.room)
    }

    /// The Windows processes without those that Wine runs for itself.
    pub fn programs(&self) -> Result<Vec<Process>> {
        Ok(self.processes()?.into_iter().filter(|process| !process.is_system()).collect())
    }

    /// Turns the machine off and waits until no process is left. Files and registry stay; the next program boots it
    /// again.
    pub fn shutdown(&self) -> Result<()> {
        let mut served = self.served.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // It fails where no server runs; what counts is what is left.
        let _ = self.server("--kill").status().context("start wineserver --kill")?;
        *served = false;
        let deadline = Instant::now() + SHUTDOWN;
        loop {
            let left = self.room.pids()?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("processes {left:?} are left {SHUTDOWN:?} after wineserver --kill");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Without this the server and all services go when the last program ends, and the next one boots again.
    fn serve(&self) -> Result<()> {
        let mut served = self.served.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*served {
            // The server stays and would keep a pipe of ours open.
            let status = self.server("--persistent").status().context("start wineserver --persistent")?;
            ensure!(status.success(), "wineserver --persistent ended with {status}");
            *served = true;
        }
        Ok(())
    }

    fn server(&self, option: &str) -> Command {
        let mut server = self.enter(SERVER);
        server.arg(option).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        server
    }

    fn enter(&self, program: &str) -> Command {
        let mut command = self.room.enter(program);
        command.env("WINEPREFIX", &self.prefix).env("WINESERVER", SERVER).envs(self.env.iter().cloned());
        command
    }

    fn install(&self, dlls: &[PathBuf]) -> Result<()> {
        let system32 = self.host_path(r"C:\windows\system32")?;
        for dll in dlls {
            let name = dll.file_name().with_context(|| format!("{} is no file", dll.display()))?;
            let to = system32.join(name);
            fs::copy(dll, &to).with_context(|| format!("copy {} to {}", dll.display(), to.display()))?;
        }
        Ok(())
    }

    fn import(&self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let file = self.prefix.join("testbed.reg");
        fs::write(&file, registry::document(entries)).with_context(|| format!("write {}", file.display()))?;
        let output = self.run("reg", ["import", &self.windows_path(&file)], IMPORT)?;
        ensure!(
            output.code == 0,
            "reg import ended with {}: {}{}",
            output.code,
            output.stdout,
            output.stderr
        );
        Ok(())
    }
}

fn instance_dir() -> Result<TempDir> {
    let parent = cache_dir().join("wine/run");
    fs::create_dir_all(&parent).with_context(|| format!("create {}", parent.display()))?;
    let dir = tempfile::Builder::new().prefix("wine-").tempdir_in(&parent);
    dir.with_context(|| format!("create a directory in {}", parent.display()))
}

fn copy_prefix(template: &Path, prefix: &Path) -> Result<()> {
    progress::run(Command::new("mkdir").arg("-p").arg(prefix.join("drive_c/windows")))?;
    // The windows directory is laid over the template's instead: a copy took 0.8 s and 764 MB for each test.
    let script = r#"cp -a "$1"/*.reg "$1"/.update-timestamp "$1"/dosdevices "$2" &&
        find "$1/drive_c" -mindepth 1 -maxdepth 1 ! -name windows -exec cp -a -t "$2/drive_c" {} +"#;
    progress::run(Command::new("sh").args(["-c", script, "sh"]).args([template, prefix]))?;
    Ok(())
}

fn overrides(dlls: &[PathBuf]) -> Result<OsString> {
    let mut overrides = String::from("winemenubuilder.exe=d");
    for dll in dlls {
        let name = dll.file_stem().and_then(OsStr::to_str);
        let name = name.with_context(|| format!("{} has no file name", dll.display()))?;
        overrides.push_str(&format!(";{name}=n"));
    }
    Ok(overrides.into())
}
