//! The runtime: pods and containers in the grain of CRI, as states that refuse.
//!
//! A container goes from `Created` to `Running` to `Exited` and never back; a verb that does not fit the state found
//! is refused by name, unless what it wants is so already. A pod has no process of its own. Who asks decides what runs
//! when: restarts, init containers and back-off are above this (`run`, later `node`).
//!
//! The truth is on disk and in the holders; what is kept here in memory is a copy of it, plus the two things that are
//! never written down: variables and passwords.

mod attach;
mod create;
mod events;
mod exec;
mod open;
mod remove;
mod sandbox;
mod start;
mod stats;
mod status;
mod stop;
mod termination;
mod update;
mod usage;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use holder::client::Client;
use holder::exit::ExitRecord;
use os::channel::Endpoint;
use os::user::Identity;

use crate::config::{ContainerConfig, Options};
use crate::error::RuntimeError;
use crate::failure::{Counters, FailureMode};
use crate::ids::{ContainerId, PodId};
use crate::layout::{ContainerDir, PodDir};
use crate::node::Node;
use crate::record::{self, ContainerRecord, PodRecord, State};

pub use events::{Happened, RuntimeEvent};
pub use exec::ExecOutput;
pub(crate) use remove::{out_of_sight, take_away};
pub use stats::{ContainerStats, PodStats};
pub use status::{ContainerFilter, ContainerStatus, PodFilter, PodStatus};
pub use usage::Usage;

/// The pods and containers of a node. Clones are the same runtime.
#[derive(Debug, Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

/// A runtime that somebody else keeps.
#[derive(Debug, Clone)]
pub struct Watcher(Weak<Inner>);

#[derive(Debug)]
struct Inner {
    node: Node,
    options: Options,
    pods: Mutex<BTreeMap<PodId, Arc<Pod>>>,
    /// Pods whose record cannot be read, and why.
    damaged: BTreeMap<PodId, String>,
    listeners: events::Listeners,
    usage: usage::Gauge,
}

#[derive(Debug)]
struct Pod {
    id: PodId,
    dir: PodDir,
    endpoint: Endpoint,
    record: Mutex<PodRecord>,
    containers: Mutex<BTreeMap<ContainerId, Arc<Container>>>,
    /// Held while a holder is looked for or started: a pod has one.
    holder: Mutex<()>,
}

#[derive(Debug)]
struct Container {
    id: ContainerId,
    dir: ContainerDir,
    /// Held by verbs that change it, so that they come one after the other.
    gate: Mutex<()>,
    life: Mutex<Life>,
    changed: Condvar,
}

/// What is known of a container now.
#[derive(Debug)]
struct Life {
    record: ContainerRecord,
    /// The record says `Running` already, for whoever comes after a crash; the holder has not said it yet.
    launching: bool,
    pid: Option<u32>,
    started: Option<String>,
    exit: Option<ExitRecord>,
    /// What is not written down: gone with the agent that was told it.
    secret: Option<Secret>,
    /// It was removed while somebody had hold of it.
    gone: bool,
}

#[derive(Debug)]
struct Secret {
    config: ContainerConfig,
    /// The whole environment, and who it is, once started.
    started: Option<(Vec<(String, String)>, Identity)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Runtime ===

impl Runtime {
    pub fn node(&self) -> &Node {
        &self.inner.node
    }

    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// How often each known way to fail was met (HP-25).
    pub fn counters(&self) -> &Counters {
        &self.inner.node.counters
    }

    /// Counts a known way to fail, and tells what can be done about it.
    fn met(&self, pod: &Pod, container: Option<&Container>, mode: FailureMode) {
        self.inner.node.counters.count(mode);
        let known = mode.known();
        self.tell(pod, container, Happened::Warning(format!("{}: {}", known.code, known.hint)));
    }

    /// For whoever waits for news and must not keep the node from being freed meanwhile.
    pub fn watcher(&self) -> Watcher {
        Watcher(Arc::downgrade(&self.inner))
    }
}

// === impl Watcher ===

impl Watcher {
    pub fn upgrade(&self) -> Option<Runtime> {
        self.0.upgrade().map(|inner| Runtime { inner })
    }
}

// === impl Inner ===

impl Inner {
    fn pod(&self, id: &PodId) -> Result<Arc<Pod>, RuntimeError> {
        if let Some(message) = self.damaged.get(id) {
            return Err(RuntimeError::Damaged { id: id.clone(), message: message.clone() });
        }
        lock(&self.pods).get(id).cloned().ok_or_else(|| RuntimeError::NoPod(id.clone()))
    }

    fn all_pods(&self) -> Vec<Arc<Pod>> {
        lock(&self.pods).values().cloned().collect()
    }

    fn container(&self, id: &ContainerId) -> Result<(Arc<Pod>, Arc<Container>), RuntimeError> {
        let found = self.all_pods().into_iter().find_map(|pod| {
            let container = lock(&pod.containers).get(id).cloned()?;
            Some((pod, container))
        });
        found.ok_or_else(|| RuntimeError::NoContainer(id.clone()))
    }
}

// === impl Pod ===

impl Pod {
    fn all_containers(&self) -> Vec<Arc<Container>> {
        lock(&self.containers).values().cloned().collect()
    }

    /// The pod's holder, if it runs.
    fn client(&self) -> Result<Client, RuntimeError> {
        Ok(Client::connect(&self.endpoint)?)
    }
}

// === impl Container ===

impl Container {
    fn life(&self) -> MutexGuard<'_, Life> {
        lock(&self.life)
    }

    fn state(&self) -> State {
        self.life().record.state
    }

    /// Refuses unless the container is in this state.
    fn expect(&self, verb: &'static str, wanted: State) -> Result<(), RuntimeError> {
        let life = self.life();
        if life.gone {
            return Err(RuntimeError::NoContainer(self.id.clone()));
        }
        let found = life.record.state;
        let named = match wanted {
            State::Created => "Created",
            State::Running => "Running",
            State::Exited => "Exited",
        };
        if found == wanted {
            return Ok(());
        }
        Err(RuntimeError::State { verb, id: self.id.clone(), found, wanted: named })
    }

    fn rewrite(&self, change: impl FnOnce(&mut ContainerRecord)) -> std::io::Result<()> {
        self.life().rewrite(&self.dir, change)
    }

    /// The same as the first step of a start.
    fn begin_launch(&self, change: impl FnOnce(&mut ContainerRecord)) -> std::io::Result<()> {
        let mut life = self.life();
        life.rewrite(&self.dir, change)?;
        life.launching = true;
        Ok(())
    }
}

// === impl Life ===

impl Life {
    /// Changes the record, on disk first.
    fn rewrite(
        &mut self,
        dir: &ContainerDir,
        change: impl FnOnce(&mut ContainerRecord),
    ) -> std::io::Result<()> {
        let mut record = self.record.clone();
        change(&mut record);
        record::write(&dir.record(), &record)?;
        self.record = record;
        Ok(())
    }
}
