//! containerd as the program a user would pick instead: its daemon, its shims and runc, driven by its own client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::guard::{Guard, Resource};
use testbed::image::{ImageBuilder, Layer};
use testbed::process::{Daemon, wait_for};
use testbed::tools::{debian, go_tool, progress};

use super::memory;
use crate::gate::suite::static_fixture;

const IMAGE: &str = "bench.test/fixture:1";
const PATIENCE: Duration = Duration::from_secs(60);

/// Its programs, and the one that its containers run.
#[derive(Debug)]
pub(super) struct Peer {
    fixture: PathBuf,
    containerd: PathBuf,
    pub(super) shim: PathBuf,
    ctr: PathBuf,
}

// === impl Peer ===

impl Peer {
    pub(super) fn provide() -> Result<Self> {
        debian::ensure(&["runc"])?;
        Ok(Self {
            fixture: static_fixture()?,
            containerd: go_tool("containerd")?,
            shim: go_tool("containerd-shim-runc-v2")?,
            ctr: go_tool("ctr")?,
        })
    }
}

/// A containerd of our own, apart from any that the host has.
#[derive(Debug)]
pub(super) struct Containerd<'a> {
    guard: &'a Guard,
    programs: &'a Peer,
    daemon: Daemon,
    socket: PathBuf,
}

// === impl Containerd ===

impl<'a> Containerd<'a> {
    pub(super) fn start(guard: &'a Guard, programs: &'a Peer) -> Result<Self> {
        ensure!(
            memory::running(|exe| exe == programs.shim)?.is_empty(),
            "shims of an earlier run are still there"
        );
        let dir = guard.dir();
        let socket = dir.join("c.sock");
        let config = dir.join("config.toml");
        // Without CRI: it wants a network, and the shim is the same.
        let text = format!(
            "version = 3\nroot = '{0}/root'\nstate = '{0}/state'\n\
             disabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime']\n\
             [grpc]\naddress = '{0}/c.sock'\n",
            dir.display()
        );
        fs::write(&config, text).with_context(|| format!("write {}", config.display()))?;
        let mut command = Command::new(&programs.containerd);
        command.arg("--config").arg(&config).env("PATH", path_with(&programs.shim)?);
        let mut daemon = Daemon::spawn(guard, "containerd", &mut command, dir)?;
        wait_for("containerd's socket", PATIENCE, || {
            daemon.check()?;
            Ok(socket.exists().then_some(()))
        })?;
        let containerd = Self { guard, programs, daemon, socket };
        containerd.import()?;
        Ok(containerd)
    }

    fn import(&self) -> Result<()> {
        let archive = self.guard.dir().join("image.tar");
        let layer = Layer::new().host_file("fixture", &self.programs.fixture, 0o755)?;
        let image = ImageBuilder::new("linux", "amd64").layer(layer).reference(IMAGE);
        image.write_oci_archive(&archive)?;
        self.ctr(&["images", "import", &archive.display().to_string()])
    }

    pub(super) fn run(&self, number: usize) -> Result<()> {
        let name = format!("c{number}");
        let words = ["run", "--detach", "--net-host", "--snapshotter", "native", IMAGE, &name];
        self.ctr(&[&words[..], &["/fixture", "sleep", "3600"]].concat())?;
        // A container does not carry the guard's mark: runc gives it an environment of its own.
        for pid in memory::running(|exe| exe == Path::new("/fixture"))? {
            self.guard.register(&Resource::process(pid)?)?;
        }
        Ok(())
    }

    pub(super) fn stop(mut self, pods: usize) -> Result<()> {
        for number in 0..pods {
            self.ctr(&["tasks", "delete", "--force", &format!("c{number}")])?;
        }
        wait_for("the shims' end", PATIENCE, || {
            Ok(memory::running(|exe| exe == self.programs.shim)?.is_empty().then_some(()))
        })?;
        progress::run(Command::new("kill").arg(self.daemon.pid().to_string()))?;
        self.daemon.reap();
        Ok(())
    }

    fn ctr(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.programs.ctr);
        command.arg("--address").arg(&self.socket).args(words).stdin(Stdio::null());
        progress::run(&mut command).map(drop).with_context(|| self.daemon.tail())
    }
}

fn path_with(program: &Path) -> Result<std::ffi::OsString> {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let first = program.parent().context("a program has a directory")?.to_path_buf();
    Ok(std::env::join_paths(std::iter::once(first).chain(std::env::split_paths(&own)))?)
}
