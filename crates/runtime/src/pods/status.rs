//! How pods and containers are, for whoever asks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use holder::exit::ExitRecord;
use os::user::Identity;

use super::{Container, Pod, Runtime, lock};
use crate::config::{Mode, PodConfig};
use crate::error::RuntimeError;
use crate::ids::{ContainerId, PodId};
use crate::record::{Kept, PodState, State, Waiting};

#[derive(Debug, Clone, PartialEq)]
pub struct PodStatus {
    pub id: PodId,
    pub config: PodConfig,
    pub state: PodState,
    pub created: String,
    pub containers: Vec<ContainerStatus>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ContainerStatus {
    pub id: ContainerId,
    pub pod: PodId,
    pub config: Kept,
    pub state: State,
    pub created: String,
    pub started: Option<String>,
    pub pid: Option<u32>,
    pub exit: Option<ExitRecord>,
    pub mode: Mode,
    /// Where it finds its image.
    pub image: Option<PathBuf>,
    pub log: PathBuf,
    pub warnings: Vec<String>,
    /// As whom it runs, once started and where that is no secret.
    pub identity: Option<Identity>,
    /// Its own last words, else what is known of its end.
    pub message: Option<String>,
}

/// Whom to list; what is not set is not asked about.
#[derive(Debug, Clone, Default)]
pub struct PodFilter {
    pub id: Option<PodId>,
    pub state: Option<PodState>,
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default)]
pub struct ContainerFilter {
    pub id: Option<ContainerId>,
    pub pod: Option<PodId>,
    pub state: Option<State>,
    pub labels: BTreeMap<String, String>,
}

// === impl Runtime ===

impl Runtime {
    pub fn pod_status(&self, id: &PodId) -> Result<PodStatus, RuntimeError> {
        Ok(self.inner.pod(id)?.status())
    }

    pub fn pods(&self, filter: &PodFilter) -> Vec<PodStatus> {
        self.inner.all_pods().iter().map(|pod| pod.status()).filter(|pod| filter.takes(pod)).collect()
    }

    pub fn status(&self, id: &ContainerId) -> Result<ContainerStatus, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        Ok(container.status(&pod.id))
    }

    pub fn containers(&self, filter: &ContainerFilter) -> Vec<ContainerStatus> {
        let of_pod = |pod: &Arc<Pod>| {
            let all = pod.all_containers();
            all.iter().map(|container| container.status(&pod.id)).collect::<Vec<_>>()
        };
        let all = self.inner.all_pods();
        all.iter().flat_map(of_pod).filter(|container| filter.takes(container)).collect()
    }

    /// The ids that begin like this.
    pub fn pod_ids(&self, beginning: &str) -> Vec<PodId> {
        lock(&self.inner.pods).keys().filter(|id| id.as_str().starts_with(beginning)).cloned().collect()
    }

    pub fn container_ids(&self, beginning: &str) -> Vec<ContainerId> {
        let of_pod = |pod: &Arc<Pod>| lock(&pod.containers).keys().cloned().collect::<Vec<_>>();
        let all = self.inner.all_pods();
        all.iter().flat_map(of_pod).filter(|id| id.as_str().starts_with(beginning)).collect()
    }

    /// Notes why the next attempt has not begun, for whoever looks meanwhile.
    pub fn note_waiting(&self, id: &ContainerId, waiting: Waiting) -> Result<(), RuntimeError> {
        let (_, container) = self.inner.container(id)?;
        let written = container.rewrite(|record| record.waiting = Some(waiting));
        written.map_err(|source| RuntimeError::Write { path: container.dir.record(), source })
    }
}

// === impl Pod ===

impl Pod {
    fn status(&self) -> PodStatus {
        let record = lock(&self.record).clone();
        PodStatus {
            id: self.id.clone(),
            config: record.config,
            state: record.state,
            created: record.created,
            containers: self.all_containers().iter().map(|container| container.status(&self.id)).collect(),
        }
    }
}

// === impl Container ===

impl Container {
    fn status(&self, pod: &PodId) -> ContainerStatus {
        let life = self.life();
        let record = &life.record;
        let of_exit = life.exit.as_ref().and_then(|exit| exit.message.clone());
        ContainerStatus {
            id: self.id.clone(),
            pod: pod.clone(),
            config: record.config.clone(),
            // Whoever is told that it runs is told as what and since when.
            state: if life.launching { State::Created } else { record.state },
            created: record.created.clone(),
            started: life.started.clone(),
            pid: life.pid,
            exit: life.exit.clone().filter(|_| record.state == State::Exited),
            mode: record.mode,
            image: record.room.as_ref().map(|room| room.image.clone()),
            log: record.log.clone(),
            warnings: record.warnings.clone(),
            identity: record.identity.clone(),
            message: record.termination_message.clone().or(of_exit),
        }
    }
}

// === impl PodFilter, ContainerFilter ===

fn labelled(wanted: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(name, value)| found.get(name) == Some(value))
}

impl PodFilter {
    fn takes(&self, pod: &PodStatus) -> bool {
        self.id.as_ref().is_none_or(|id| *id == pod.id)
            && self.state.is_none_or(|state| state == pod.state)
            && labelled(&self.labels, &pod.config.labels)
    }
}

impl ContainerFilter {
    fn takes(&self, container: &ContainerStatus) -> bool {
        self.id.as_ref().is_none_or(|id| *id == container.id)
            && self.pod.as_ref().is_none_or(|pod| *pod == container.pod)
            && self.state.is_none_or(|state| state == container.state)
            && labelled(&self.labels, &container.config.labels)
    }
}
