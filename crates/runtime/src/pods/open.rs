//! Taking up what an earlier agent left: the records, and what the holders say to them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use holder::protocol::Held;

use super::{Container, Inner, Life, Pod, Runtime, events, lock, usage};
use crate::config::Options;
use crate::fate::{self, Fate, Traces};
use crate::ids::PodId;
use crate::layout::{ContainerDir, PodDir};
use crate::node::Node;
use crate::record::{self, ContainerRecord, PodRecord, State};

// === impl Runtime ===

impl Runtime {
    /// The runtime of a node, with every pod that is there already.
    pub fn open(node: Node) -> Runtime {
        Runtime::open_with(node, Options::default())
    }

    pub fn open_with(node: Node, options: Options) -> Runtime {
        let mut pods = BTreeMap::new();
        let mut damaged = BTreeMap::new();
        for entry in std::fs::read_dir(node.layout.pods()).into_iter().flatten().flatten() {
            let dir = PodDir::at(entry.path());
            let Ok(id) = PodId::parse(&entry.file_name().to_string_lossy()) else { continue };
            match record::read::<PodRecord>(&dir.record()) {
                Ok(Some(record)) => drop(pods.insert(id.clone(), Pod::take_up(&node, id, dir, record))),
                Ok(None) => {}
                Err(e) => drop(damaged.insert(id, e.to_string())),
            }
        }
        let inner = Arc::new(Inner {
            node,
            options,
            pods: Mutex::new(pods),
            damaged,
            listeners: events::Listeners::default(),
            usage: usage::Gauge::default(),
        });
        let runtime = Runtime { inner };
        for pod in runtime.inner.all_pods() {
            for container in pod.all_containers() {
                if container.state() == State::Running {
                    runtime.watch(&pod, &container);
                }
            }
        }
        runtime
    }
}

// === impl Pod ===

impl Pod {
    pub(super) fn new(node: &Node, id: PodId, record: PodRecord) -> Arc<Pod> {
        let dir = node.layout.pod(&id);
        Arc::new(Pod {
            endpoint: node.layout.holder_endpoint(&id),
            id,
            dir,
            record: Mutex::new(record),
            containers: Mutex::default(),
            holder: Mutex::new(()),
        })
    }

    fn take_up(node: &Node, id: PodId, dir: PodDir, record: PodRecord) -> Arc<Pod> {
        let pod = Pod::new(node, id, record);
        let records = container_records(&dir.containers());
        let asked = records.iter().any(|(_, record)| record.state == State::Running);
        // A holder that does not answer may have everything that its pod's records say: who watches finds out.
        let held = if asked { fate::held(&pod.endpoint).map(|(_, held)| held).ok() } else { None };
        let containers = records.into_iter().map(|(dir, record)| {
            let container = Container::take_up(dir, record, held.as_deref(), &node.facts.boot_id);
            (container.id.clone(), container)
        });
        lock(&pod.containers).extend(containers);
        pod
    }
}

fn container_records(containers: &Path) -> Vec<(ContainerDir, ContainerRecord)> {
    let entries = std::fs::read_dir(containers).into_iter().flatten().flatten();
    let dirs = entries.map(|entry| entry.path()).filter(|path| !PodDir::is_gone(path)).map(ContainerDir::at);
    dirs.filter_map(|dir| Some((dir.clone(), record::read(&dir.record()).ok()??))).collect()
}

// === impl Container ===

impl Container {
    pub(super) fn new(dir: ContainerDir, record: ContainerRecord) -> Container {
        let life = Life {
            record,
            launching: false,
            pid: None,
            started: None,
            exit: None,
            secret: None,
            gone: false,
        };
        Container {
            id: life.record.id.clone(),
            dir,
            gate: Mutex::new(()),
            life: Mutex::new(life),
            changed: Condvar::new(),
        }
    }

    fn take_up(
        dir: ContainerDir,
        record: ContainerRecord,
        held: Option<&[Held]>,
        boot_id: &str,
    ) -> Arc<Container> {
        let exit = dir.exit();
        let traces = Traces {
            id: record.id.as_str(),
            exit: &exit,
            log: &record.log,
            boots: [&record.boot_id, boot_id],
        };
        let fate = match (record.state, held) {
            (State::Running, Some(held)) => traces.fate(held.to_vec()).ok(),
            (State::Exited, _) => traces.fate(Vec::new()).ok(),
            _ => None,
        };
        let container = Container::new(dir, record);
        let mut life = container.life();
        match fate {
            // Meant to start and never told to: as if it had just been made, without its variables.
            Some(Fate::NotStarted) if life.record.state == State::Running => {
                life.record.state = State::Created
            }
            Some(Fate::Running(held)) => {
                life.pid = Some(held.pid);
                life.started = Some(held.started);
            }
            // Who watches it puts everything else in order.
            Some(Fate::Ended(exit)) => {
                life.started = Some(exit.started.clone());
                life.exit = Some(exit);
            }
            _ => {}
        }
        drop(life);
        Arc::new(container)
    }
}
