//! Those who pull: ours and its peers, each into an empty place, over the same cores.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testbed::guard::Guard;
use testbed::process::{Daemon, tail, wait_for};
use testbed::tools::{cache_dir, debian, go_tool, progress};

use super::{disk, parallel};

/// What containerd says when it will not do what its options ask for: it would be no peer then.
const SEQUENTIAL: &str = "unpacking will be sequential";

const PATIENCE: Duration = Duration::from_secs(60);

/// Who pulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Containerd,
    SkopeoUmoci,
}

pub(super) const SIDES: [Side; 3] = [Side::Ours, Side::Containerd, Side::SkopeoUmoci];

/// The programs of all sides.
#[derive(Debug)]
pub(super) struct Programs {
    porthole: PathBuf,
    containerd: PathBuf,
    ctr: PathBuf,
}

/// An empty place of one side, ready to pull.
#[derive(Debug)]
pub(super) struct Room<'p> {
    programs: &'p Programs,
    side: Side,
    daemon: Option<Daemon>,
    /// Empty, and nothing was ever removed from it.
    disk: PathBuf,
    guard: Guard,
}

// === impl Programs ===

impl Programs {
    pub(super) fn provide() -> Result<Self> {
        // containerd uses what it finds of igzip and unpigz.
        debian::ensure(&["skopeo", "umoci", "pigz", "isal"])?;
        Ok(Self {
            porthole: super::super::released_porthole()?,
            containerd: go_tool("containerd")?,
            ctr: go_tool("ctr")?,
        })
    }
}

// === impl Room ===

impl<'p> Room<'p> {
    pub(super) fn open(programs: &'p Programs, side: Side) -> Result<Self> {
        let guard = Guard::new("bench-pull")?;
        let disk = disk::mount(&guard)?;
        let mut room = Self { programs, side, daemon: None, disk, guard };
        if side == Side::Containerd {
            room.daemon = Some(room.containerd()?);
        }
        Ok(room)
    }

    /// Pulls and unpacks, so many times at once. The time until the last has ended.
    pub(super) fn pull(&self, reference: &str, times: usize) -> Result<Duration> {
        let begun = Instant::now();
        let pulls = (0..times).map(|number| self.start(reference, number)).collect::<Result<Vec<_>>>()?;
        let ended: Vec<Result<()>> = pulls.into_iter().map(|pull| self.wait(pull)).collect();
        let took = begun.elapsed();
        ended.into_iter().collect::<Result<()>>()?;
        Ok(took)
    }

    /// Ends the side's programs and removes what they wrote.
    pub(super) fn close(mut self) -> Result<()> {
        if self.daemon.is_some() {
            let log = fs::read_to_string(self.guard.dir().join("containerd.log"))
                .context("read containerd's log")?;
            ensure!(!log.contains(SEQUENTIAL), "containerd does not unpack layers side by side here");
        }
        let ended = self.guard.teardown();
        if let Some(daemon) = &mut self.daemon {
            daemon.reap();
        }
        ended
    }

    fn start(&self, reference: &str, number: usize) -> Result<(Child, PathBuf)> {
        let mut command = self.command(reference, number);
        let log = self.guard.dir().join(format!("pull-{number}.log"));
        let file = fs::File::create(&log).with_context(|| format!("create {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = self.guard.mark(&mut command).spawn();
        Ok((child.with_context(|| format!("start {}", command.get_program().display()))?, log))
    }

    fn wait(&self, (mut child, log): (Child, PathBuf)) -> Result<()> {
        let status = child.wait().context("wait for a pull")?;
        if !status.success() {
            bail!("{}: a pull ended with {status}:\n{}", self.side.name(), tail(&log));
        }
        Ok(())
    }

    fn command(&self, reference: &str, number: usize) -> Command {
        let dir = &self.disk;
        match self.side {
            Side::Ours => {
                let mut command = Command::new(&self.programs.porthole);
                command.args(["image", "pull", reference, "--root"]).arg(dir.join("root"));
                command
            }
            Side::Containerd => {
                let mut command = Command::new(&self.programs.ctr);
                command.arg("--address").arg(self.socket());
                command.args(["images", "pull", "--plain-http", "--snapshotter", "overlayfs", reference]);
                command
            }
            // The two share nothing between runs, so each pull has its own place.
            Side::SkopeoUmoci => {
                let (layout, bundle) = (format!("layout-{number}"), format!("bundle-{number}"));
                let line = "skopeo copy --quiet --src-tls-verify=false docker://$1 oci:$2:image && \
                            umoci unpack --image $2:image $3";
                let mut command = Command::new("sh");
                command.args(["-c", line, "sh", reference, &layout, &bundle]).current_dir(dir);
                command
            }
        }
    }

    /// A containerd with everything parallel that it offers: layers, parts of layers, unpacking.
    fn containerd(&self) -> Result<Daemon> {
        let dir = self.guard.dir();
        let (socket, config) = (self.socket(), dir.join("config.toml"));
        let text = format!(
            "version = 3\nroot = '{1}/root'\nstate = '{0}/state'\n\
             disabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime']\n\
             [grpc]\naddress = '{0}/c.sock'\n\
             {2}",
            dir.display(),
            self.disk.display(),
            parallel::section()
        );
        fs::write(&config, text).with_context(|| format!("write {}", config.display()))?;
        parallel::check(&self.programs.containerd, &config)?;
        let mut command = Command::new(&self.programs.containerd);
        command.arg("--config").arg(&config);
        let mut daemon = Daemon::spawn(&self.guard, "containerd", &mut command, dir)?;
        wait_for("containerd's answer", PATIENCE, || {
            daemon.check()?;
            Ok((socket.exists() && self.answers(&socket)).then_some(()))
        })?;
        Ok(daemon)
    }

    fn socket(&self) -> PathBuf {
        self.guard.dir().join("c.sock")
    }

    fn answers(&self, socket: &Path) -> bool {
        let mut ctr = Command::new(&self.programs.ctr);
        progress::run(ctr.arg("--address").arg(socket).arg("version")).is_ok()
    }
}

// === impl Side ===

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "porthole",
            Self::Containerd => "containerd",
            Self::SkopeoUmoci => "skopeo+umoci",
        }
    }
}

/// Forgets what the kernel has read, so that everybody begins with the disk.
pub(super) fn chill() -> Result<()> {
    progress::run(&mut Command::new("sync"))?;
    fs::write("/proc/sys/vm/drop_caches", "3").context("drop the page cache, which every pull begins without")
}

/// Whether the machine's disk holds what the pulls write.
pub(super) fn room_for(bytes: u64) -> Result<()> {
    let dir = cache_dir();
    let free = progress::text_of(Command::new("df").args(["--output=avail", "--block-size=1"]).arg(&dir))?;
    let free: u64 = free.lines().last().unwrap_or_default().trim().parse().context("output of df")?;
    if free < bytes {
        bail!("{} has {free} bytes left: wanted {bytes} for the pulls", dir.display());
    }
    Ok(())
}
