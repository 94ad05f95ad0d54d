//! A machine's namespaces and files, booted once: made anew by each boot, except for what is on its disk.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::cgroups::Cgroups;
use super::options::{Options, on_boot_script};
use crate::control_plane::Cable;
use crate::guard::{Guard, MARK, random_uuid};
use crate::net::Netns;
use crate::process::{tail, wait_for};
use crate::tools::cache_dir;

const INIT: &str = include_str!("init.sh");
const REBOOT: &str = include_str!("reboot.pl");
const JOIN: &str = include_str!("join.sh");
const PATH: &str = "/run/machine/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// In the machine's own state: the host's /root is visible inside and not to be written to.
const HOME: &str = "/var/lib/home";
const BOOT_LIMIT: Duration = Duration::from_secs(20);

/// Everything of a machine that outlives a boot.
#[derive(Debug)]
pub(super) struct World {
    pub(super) name: String,
    pub(super) dir: PathBuf,
    guard: String,
    netns: Netns,
    cgroups: Cgroups,
    pub(super) on_boot: Mutex<Vec<Vec<String>>>,
    cables: Mutex<Vec<Cable>>,
}

/// One boot: process 1 is up, its parent waits for its end.
#[derive(Debug)]
pub(super) struct Boot {
    /// `unshare`, whose end tells how process 1 ended.
    pub(super) parent: Child,
    pub(super) init: u32,
    pub(super) handle: Arc<OwnedFd>,
    pub(super) boot_id: String,
}

// === impl World ===

impl World {
    pub(super) fn create(name: &str, options: Options, guard: &Guard) -> Result<Self> {
        let dir = guard.dir().to_owned();
        let world = Self {
            name: name.to_owned(),
            guard: guard.id().to_owned(),
            netns: Netns::create(guard, "net")?,
            cgroups: Cgroups::plan(guard)?,
            on_boot: Mutex::new(options.on_boot),
            cables: Mutex::default(),
            dir,
        };
        world.furnish(&options.shared)?;
        Ok(world)
    }

    /// The machine's disk: what differs from the host's `/etc`, since a node writes there, and empty state and logs.
    fn furnish(&self, shared: &[PathBuf]) -> Result<()> {
        let fs_dir = self.dir.join("fs");
        for below in ["var-lib/home", "var-log", "etc", "etc-work"] {
            fs::create_dir_all(fs_dir.join(below)).context("create the machine's disk")?;
        }
        self.write("fs/etc/hostname", &format!("{}\n", self.name))?;
        self.write("fs/etc/machine-id", &format!("{}\n", random_uuid()?.replace('-', "")))?;
        self.write("init.sh", INIT)?;
        self.write("reboot", REBOOT)?;
        fs::set_permissions(self.dir.join("reboot"), PermissionsExt::from_mode(0o755))?;
        self.write("cgroups", &self.cgroups.list())?;
        // A cache in a directory that the machine has for itself (/tmp) must not hide the tools in it.
        let tools = cache_dir().join("go");
        fs::create_dir_all(&tools).context("create the cache of tools")?;
        let shared = shared.iter().chain([&tools]);
        let shared: String = shared.map(|path| format!("{}\n", path.display())).collect();
        self.write("shared", &shared)
    }

    /// Boots and returns when the world inside is complete.
    pub(super) fn boot(&self, generation: u32) -> Result<Boot> {
        let boot_id = random_uuid()?;
        self.write("boot_id", &format!("{boot_id}\n"))?;
        self.write("on-boot.sh", &on_boot_script(&lock(&self.on_boot)))?;
        if generation > 1 {
            self.netns.renew()?;
        }
        self.cgroups.make()?;
        lock(&self.cables).iter().try_for_each(|cable| cable.plug(&self.netns))?;
        let mut parent = self.spawn_init(generation)?;
        self.wait_ready(generation, &mut parent)?;
        let init: u32 = self.read("init.pid")?.parse().context("process 1's pid")?;
        let pid = i32::try_from(init).ok().and_then(Pid::from_raw).context("process 1's pid")?;
        let handle = Arc::new(pidfd_open(pid, PidfdFlags::empty()).context("hold on to process 1")?);
        for home in self.cgroups.homes() {
            let file = home.join("cgroup.procs");
            fs::write(&file, parent.id().to_string()).with_context(|| format!("write {}", file.display()))?;
        }
        Ok(Boot { parent, init, handle, boot_id })
    }

    fn spawn_init(&self, generation: u32) -> Result<Child> {
        let log = fs::File::create(self.dir.join("init.log")).context("create init.log")?;
        let mut command = self.joined(&self.cgroups.dirs());
        command.arg("nsenter").arg(with_path("--net=", self.netns.path()));
        command.args(["unshare", "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--fork", "--kill-child"]);
        command.arg("sh").arg(self.dir.join("init.sh")).arg(&self.dir).arg(&self.name);
        command.arg(generation.to_string()).arg(self.cgroups.name()).arg(cache_dir());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        command.spawn().context("start the machine (needs root, unshare and nsenter)")
    }

    fn wait_ready(&self, generation: u32, parent: &mut Child) -> Result<()> {
        let wanted = generation.to_string();
        let ready = wait_for("the machine to boot", BOOT_LIMIT, || {
            if let Some(status) = parent.try_wait().context("wait for process 1")? {
                bail!("process 1 ended with {status}");
            }
            Ok(self.read("ready").is_ok_and(|found| found == wanted).then_some(()))
        });
        ready.with_context(|| {
            format!("boot machine {}; its log ends:\n{}", self.name, tail(&self.dir.join("init.log")))
        })
    }

    /// A command inside the boot whose process 1 is `init`. It dies with its parent on the host.
    pub(super) fn command(&self, init: u32, program: &std::ffi::OsStr) -> Command {
        let mut command = self.joined(&self.cgroups.homes());
        command.args(["nsenter", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--target"]);
        command.arg(init.to_string()).args(["setpriv", "--pdeathsig", "KILL"]).arg(program);
        command
    }

    fn joined(&self, cgroups: &[PathBuf]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", JOIN, "join"]).args(cgroups).arg("--");
        // A node's programs do not know of the test that runs them.
        command.env_clear().env("PATH", PATH).env("HOME", HOME).env(MARK, &self.guard);
        command
    }

    /// After process 1's end: what a reboot loses.
    pub(super) fn sweep(&self) -> Result<()> {
        self.cgroups.sweep()
    }

    pub(super) fn attach(&self, cable: Cable) -> Result<()> {
        cable.plug(&self.netns)?;
        lock(&self.cables).push(cable);
        Ok(())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.dir.join(file);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.dir.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(text.trim_end().to_owned())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_path(flag: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(flag);
    word.push(path);
    word
}
