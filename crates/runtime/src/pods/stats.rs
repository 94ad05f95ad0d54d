//! What containers use: one question per pod, and no directory is walked for an answer.

use std::collections::BTreeMap;

use holder::client::ClientError;
use os::job::JobStats;

use super::{Pod, Runtime, Usage};
use crate::error::RuntimeError;
use crate::ids::{ContainerId, PodId};
use crate::record::State;

#[derive(Debug, Clone, PartialEq)]
pub struct ContainerStats {
    pub id: ContainerId,
    pub name: String,
    pub job: JobStats,
    /// What it has written into its image, as last measured. None until then, and where the scratch directory has a
    /// size of its own: only the container sees that file system.
    pub writable: Option<Usage>,
}

/// A pod's share is the sum of its containers'.
#[derive(Debug, Clone, PartialEq)]
pub struct PodStats {
    pub id: PodId,
    pub containers: Vec<ContainerStats>,
}

// === impl Runtime ===

impl Runtime {
    pub fn stats(&self, id: &ContainerId) -> Result<ContainerStats, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        container.expect("measure", State::Running)?;
        let job = pod.client()?.stats(id.as_str())?;
        let name = container.life().record.config.name.clone();
        Ok(ContainerStats { id: id.clone(), name, job, writable: self.usage_of(&container) })
    }

    /// Of the containers that run.
    pub fn pod_stats(&self, id: &PodId) -> Result<PodStats, RuntimeError> {
        let pod = self.inner.pod(id)?;
        self.measure(&pod)
    }

    /// Of all pods. One whose holder is gone or silent is left out: the others must not wait for it.
    pub fn all_stats(&self) -> Vec<PodStats> {
        self.inner.all_pods().iter().filter_map(|pod| self.measure(pod).ok()).collect()
    }

    fn measure(&self, pod: &Pod) -> Result<PodStats, RuntimeError> {
        let running: Vec<_> = pod
            .all_containers()
            .into_iter()
            .filter(|container| container.state() == State::Running)
            .collect();
        let mut jobs: BTreeMap<String, JobStats> = BTreeMap::new();
        if !running.is_empty() {
            match pod.client().and_then(|mut client| Ok(client.all_stats()?)) {
                Ok(all) => jobs.extend(all),
                Err(RuntimeError::Client(e)) if is_gone(&e) => {}
                Err(other) => return Err(other),
            }
        }
        let containers = running.iter().filter_map(|container| {
            let job = jobs.remove(container.id.as_str())?;
            let name = container.life().record.config.name.clone();
            Some(ContainerStats { id: container.id.clone(), name, job, writable: self.usage_of(container) })
        });
        Ok(PodStats { id: pod.id.clone(), containers: containers.collect() })
    }
}

fn is_gone(error: &ClientError) -> bool {
    error.is_absent()
}

// === impl PodStats ===

impl PodStats {
    pub fn cpu_ns(&self) -> u64 {
        self.containers.iter().map(|each| each.job.cpu_user_ns + each.job.cpu_kernel_ns).sum()
    }

    pub fn working_set_bytes(&self) -> u64 {
        self.containers.iter().map(|each| each.job.working_set_bytes).sum()
    }

    pub fn processes(&self) -> u32 {
        self.containers.iter().map(|each| each.job.processes).sum()
    }
}
