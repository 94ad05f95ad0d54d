//! A container runtime under foreign judges: critest, crictl, a stock kubelet.
//!
//! A [`World`] is a machine with a registry on its own loopback, so that runtimes find every image that a judge asks
//! for and nothing of the host is touched: a HostProcess container has its host's files, and one spec of critest
//! changes the mode of `/`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::guard::Guard;
use crate::machine::{Machine, Options};
use crate::process::{Daemon, wait_for};
use crate::registry::{self, Registry, Relay};
use crate::tools::{debian, progress};

pub mod critest;
pub mod ginkgo;
pub mod judges;
pub mod kubelet;
mod runtime;
pub mod stand_ins;
pub mod windows;

pub use runtime::{HOSTPROCESS, Runtime};

/// Where the registry is, inside.
const REGISTRY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 5000);
/// For the programs of a world; its containers find busybox's first, which an image's usual path has in front.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
const SHORT: Duration = Duration::from_secs(60);

/// A machine with a registry, until it is dropped.
#[derive(Debug)]
pub struct World {
    pub machine: Machine,
    guard: Guard,
    _relay: Relay,
    _registry: Registry,
}

// === impl World ===

impl World {
    /// `fixture` is the static program of the stand-ins, `programs` what the world shall see at the host's paths.
    pub fn start(name: &str, fixture: &Path, programs: &[&Path]) -> Result<Self> {
        debian::ensure(&["busybox-static"])?;
        let options = programs.iter().fold(Options::default(), |options, path| options.share(*path));
        let machine = Machine::start(name, options)?;
        let registry = Registry::start(registry::Options::default())?;
        let guard = Guard::new("cri")?;
        stand_ins::push(&registry, &stripped(fixture, guard.dir())?).context("fill the registry")?;
        let network = PathBuf::from(format!("/proc/{}/ns/net", machine.init_pid()?));
        let relay = registry.seen_in(&network, REGISTRY)?;
        let world = Self { machine, guard, _relay: relay, _registry: registry };
        world.furnish()?;
        Ok(world)
    }

    /// A command inside. Its programs are the host's own.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.machine.command(program);
        command.env("PATH", PATH);
        command
    }

    /// What a shell line inside says.
    pub fn says(&self, line: &str) -> Result<String> {
        progress::text_of(self.command("sh").args(["-c", line])).with_context(|| format!("inside: {line}"))
    }

    /// Starts a program inside that runs until the world ends; its log is kept in [`World::dir`].
    pub fn daemon(&self, name: &str, command: &mut Command) -> Result<Daemon> {
        Daemon::spawn(&self.guard, name, command, self.guard.dir())
    }

    /// A directory on the host for logs and reports, gone with the world.
    pub fn dir(&self) -> &Path {
        self.guard.dir()
    }

    /// Writes a file below the machine's `/var/lib` and tells its path inside.
    pub fn write(&self, path: &str, text: &str) -> Result<String> {
        let file = self.machine.var_lib().join(path);
        let parent = file.parent().with_context(|| format!("{path} has no directory"))?;
        std::fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
        Ok(format!("/var/lib/{path}"))
    }

    /// Waits until a program answers at its socket inside; `daemon` must live.
    pub fn wait_for_socket(&self, daemon: &mut Daemon, socket: &str) -> Result<()> {
        let inside = |test: &str| -> Result<bool> {
            Ok(self.command("test").args([test, socket]).status().context("start test")?.success())
        };
        wait_for(&format!("{}'s socket {socket}", daemon.name()), SHORT, || {
            daemon.check()?;
            Ok(inside("-S")?.then_some(()))
        })
    }

    /// Busybox's programs first on the path of containers, as critest's commands want them; the root closed to writes.
    fn furnish(&self) -> Result<()> {
        for (name, text) in stand_ins::PROGRAMS {
            let inside = self.write(&format!("busybox/{name}"), text)?;
            self.says(&format!("chmod 755 {inside}"))?;
        }
        self.says(
            "set -e; mkdir -p /var/lib/busybox; /bin/busybox --install -s /var/lib/busybox; \
             mount --bind /var/lib/busybox /usr/local/sbin; mount -o remount,bind,ro /",
        )?;
        let writable = self.command("touch").arg("/written").output().context("start touch")?;
        ensure!(!writable.status.success(), "the machine's root can be written to");
        Ok(())
    }
}

/// Without what only debuggers read, which is most of it.
fn stripped(program: &Path, dir: &Path) -> Result<PathBuf> {
    let slim = dir.join("fixture");
    progress::run(Command::new("strip").arg("-o").arg(&slim).arg(program))?;
    Ok(slim)
}

/// The file that sends every registry's name to ours, as containerd and porthole read it.
fn mirror() -> String {
    format!("[host.\"http://{REGISTRY}\"]\n  capabilities = [\"pull\", \"resolve\"]\n")
}
