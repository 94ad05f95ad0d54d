//! What keeping a pod alive costs: porthole-hold beside containerd's shim, each with one container that sleeps.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::guard::{Guard, Resource};
use testbed::image::{ImageBuilder, Layer};
use testbed::process::{Daemon, wait_for};
use testbed::tools::{debian, go_tool, progress};

use super::{Measured, ROUNDS, memory, percentile};
use crate::gate::suite::static_fixture;

const PODS: [usize; 2] = [1, 10];
/// How ours grows further; once, because it is no part of the comparison.
const MANY: usize = 110;
const IMAGE: &str = "bench.test/fixture:1";
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run() -> Result<Measured> {
    debian::ensure(&["runc"])?;
    let programs = Programs::provide()?;
    let (mut ours, mut peer) = ([vec![], vec![]], [vec![], vec![]]);
    for round in 1..=ROUNDS {
        for (at, pods) in PODS.into_iter().enumerate() {
            ours[at].push(programs.ours(pods)?);
            peer[at].push(programs.peer(pods)?);
            let value = |of: &[Vec<f64>; 2]| of[at].last().copied().unwrap_or_default();
            println!(
                "round {round}, {pods} pods: porthole-hold {:.3} MiB, shim {:.3} MiB",
                value(&ours),
                value(&peer)
            );
        }
    }
    let many = programs.ours(MANY)?;
    let growth = |of: &[Vec<f64>; 2]| [(1, percentile(&of[0], 50)), (10, percentile(&of[1], 50))].into();
    let mut measured = Measured { growth: growth(&ours), peer_growth: growth(&peer), ..Measured::default() };
    measured.growth.insert(110, many);
    [measured.ours, measured.peer] = [ours[0].clone(), peer[0].clone()];
    Ok(measured)
}

#[derive(Debug)]
struct Programs {
    fixture: PathBuf,
    porthole: PathBuf,
    containerd: PathBuf,
    shim: PathBuf,
    ctr: PathBuf,
}

// === impl Programs ===

impl Programs {
    fn provide() -> Result<Self> {
        Ok(Self {
            fixture: static_fixture()?,
            porthole: super::released_porthole()?,
            containerd: go_tool("containerd")?,
            shim: go_tool("containerd-shim-runc-v2")?,
            ctr: go_tool("ctr")?,
        })
    }

    /// Through `porthole up`, as a user starts pods.
    fn ours(&self, pods: usize) -> Result<f64> {
        let guard = Guard::new("bench")?;
        let root = guard.dir().join("root");
        fs::create_dir(guard.dir().join("app"))?;
        fs::copy(&self.fixture, guard.dir().join("app/fixture")).context("copy the fixture")?;
        let files = (0..pods).map(|number| write_pod(guard.dir(), number)).collect::<Result<Vec<_>>>()?;
        let mut command = Command::new(&self.porthole);
        command.args(["up", "--plain", "--root"]).arg(&root).args(files);
        let mut up = Daemon::spawn(&guard, "porthole", &mut command, guard.dir())?;
        let holders = root.join("bin");
        let mean = memory::settled_mean("holders", pods, |exe| exe.starts_with(&holders))
            .with_context(|| up.tail())?;
        progress::run(Command::new("kill").args(["-INT", &up.pid().to_string()]))?;
        wait_for("the holders' end", PATIENCE, || {
            Ok(memory::running(|exe| exe.starts_with(&holders))?.is_empty().then_some(()))
        })?;
        up.reap();
        Ok(mean)
    }

    /// Through containerd's own client: one shim for each container.
    fn peer(&self, pods: usize) -> Result<f64> {
        let guard = Guard::new("bench")?;
        let containerd = Containerd::start(&guard, self)?;
        for number in 0..pods {
            containerd.run(number)?;
        }
        let mean = memory::settled_mean("shims", pods, |exe| exe == self.shim);
        containerd.stop(pods)?;
        mean
    }
}

fn write_pod(dir: &Path, number: usize) -> Result<PathBuf> {
    let path = dir.join(format!("pod-{number}.yaml"));
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{number}}}\nspec:\n  hostNetwork: true\n  \
         terminationGracePeriodSeconds: 1\n  securityContext: {{windowsOptions: {{hostProcess: true}}}}\n  \
         containers:\n  - {{name: main, image: \"dir:app\", command: [\"./fixture\", \"sleep\", \"3600\"]}}\n"
    );
    fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}

/// A containerd of our own, apart from any that the host has.
#[derive(Debug)]
struct Containerd<'a> {
    guard: &'a Guard,
    programs: &'a Programs,
    daemon: Daemon,
    socket: PathBuf,
}

// === impl Containerd ===

impl<'a> Containerd<'a> {
    fn start(guard: &'a Guard, programs: &'a Programs) -> Result<Self> {
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

    fn run(&self, number: usize) -> Result<()> {
        let name = format!("c{number}");
        let words = ["run", "--detach", "--net-host", "--snapshotter", "native", IMAGE, &name];
        self.ctr(&[&words[..], &["/fixture", "sleep", "3600"]].concat())?;
        // A container does not carry the guard's mark: runc gives it an environment of its own.
        for pid in memory::running(|exe| exe == Path::new("/fixture"))? {
            self.guard.register(&Resource::process(pid)?)?;
        }
        Ok(())
    }

    fn stop(mut self, pods: usize) -> Result<()> {
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
