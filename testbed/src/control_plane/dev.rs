//! The development cluster: one control plane per cache that stays until it is taken down.
//!
//! `cargo xtask control-plane` is a thin layer over this. The cluster has no guard while it runs; its journal stays
//! in its directory, and [`DevCluster::down`] replays it, also for one that was killed half way up.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::{ControlPlane, Options};
use crate::guard::{self, Resource};
use crate::process::Daemon;
use crate::tools::{cache_dir, go_tool};

/// The cluster's place; there need not be one running.
///
/// ```no_run
/// use testbed::control_plane::dev::DevCluster;
///
/// let cluster = DevCluster::default();
/// let (record, _already_up) = cluster.up()?;
/// println!("export KUBECONFIG={}", record.kubeconfig.display());
/// cluster.down()?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct DevCluster {
    dir: PathBuf,
}

/// What a user of the running cluster needs to know.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    pub guard: String,
    pub address: String,
    pub kubeconfig: PathBuf,
    pub logs: PathBuf,
    pub join_command: String,
    pub programs: Vec<Program>,
}

/// One of the cluster's programs. The start time tells it from a later process of the same pid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub pid: u32,
    pub start: u64,
}

impl Default for DevCluster {
    fn default() -> Self {
        Self { dir: cache_dir().join("dev-cluster") }
    }
}

// === impl DevCluster ===

impl DevCluster {
    /// One in another directory, for tests.
    pub fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Starts the cluster; true if it was up already. What an earlier one left half way is removed first.
    pub fn up(&self) -> Result<(Record, bool)> {
        let _lock = self.lock()?;
        if let Some(record) = self.record()?.filter(|record| record.programs.iter().all(Program::runs)) {
            return Ok((record, true));
        }
        guard::undo(&self.state())?;
        Ok((self.start()?, false))
    }

    fn start(&self) -> Result<Record> {
        let plane = ControlPlane::start(Options::default().dir(self.state()))?;
        let record = Record::of(&plane)?;
        let text = serde_json::to_vec_pretty(&record).context("encode the cluster's record")?;
        fs::write(self.record_path(), text).context("write the cluster's record")?;
        plane.stay()?;
        Ok(record)
    }

    /// Ends the cluster and removes everything of it; false if there was none.
    pub fn down(&self) -> Result<bool> {
        let _lock = self.lock()?;
        let state = self.state();
        let id = self.record()?.map(|record| record.guard);
        let was = state.exists();
        guard::undo(&state)?;
        let left = id.map(|id| guard::traces(&id, &state)).unwrap_or_default();
        ensure!(left.is_empty(), "left behind:\n{}", left.join("\n"));
        Ok(was)
    }

    /// The cluster's record, if one came up and was not taken down. Its programs may have died since.
    pub fn record(&self) -> Result<Option<Record>> {
        let path = self.record_path();
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        serde_json::from_slice(&text).map(Some).with_context(|| format!("parse {}", path.display()))
    }

    /// `kubectl` for the running cluster.
    pub fn kubectl(&self) -> Result<Command> {
        let Some(record) = self.record()? else { bail!("no cluster is up: cargo xtask control-plane up") };
        let mut command = Command::new(go_tool("kubectl")?);
        command.env("KUBECONFIG", record.kubeconfig).env("HOME", self.state());
        Ok(command)
    }

    /// The running control plane's directory; it exists from the first step up to the last step down.
    pub fn state(&self) -> PathBuf {
        self.dir.join("state")
    }

    fn record_path(&self) -> PathBuf {
        self.state().join("cluster.json")
    }

    fn lock(&self) -> Result<File> {
        fs::create_dir_all(&self.dir).with_context(|| format!("create {}", self.dir.display()))?;
        let path = self.dir.join("lock");
        let lock = File::create(&path).with_context(|| format!("create {}", path.display()))?;
        ensure!(lock.try_lock().is_ok(), "another `up` or `down` is at work in {}", self.dir.display());
        Ok(lock)
    }
}

// === impl Record ===

impl Record {
    fn of(plane: &ControlPlane) -> Result<Self> {
        let programs = plane.daemons.iter().map(Program::of).collect::<Result<_>>()?;
        Ok(Self {
            guard: plane.guard.id().to_owned(),
            address: plane.address().to_string(),
            kubeconfig: plane.kubeconfig(),
            logs: plane.logs_dir(),
            join_command: plane.join_command(),
            programs,
        })
    }
}

// === impl Program ===

impl Program {
    fn of(daemon: &Daemon) -> Result<Self> {
        match Resource::process(daemon.pid())? {
            Resource::Process { pid, start } => Ok(Self { name: daemon.name().to_owned(), pid, start }),
            other => bail!("{other:?} is not a process"),
        }
    }

    /// Whether it still runs.
    pub fn runs(&self) -> bool {
        let now = Resource::process(self.pid);
        now.is_ok_and(|now| now == Resource::Process { pid: self.pid, start: self.start })
    }
}
