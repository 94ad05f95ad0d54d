//! What containers use, and no directory is walked for an answer.
//!
//! Where a job's counters can be read by its name they are: a few small files, while a question to a holder wakes
//! three threads of another process. A kubelet asks for all pods every ten seconds. Elsewhere each holder is asked
//! once for all its containers, several holders at a time.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread;

use holder::client::ClientError;
use os::job::JobStats;

use super::{Container, Pod, Runtime, Usage};
use crate::error::RuntimeError;
use crate::ids::{ContainerId, PodId};
use crate::record::State;

/// How many holders are asked at the same time.
const AT_ONCE: usize = 8;
/// These threads ask a question and read the answer.
const STACK: usize = 256 * 1024;

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

/// A job's counters as far as they can be had without its holder.
enum Look {
    Seen(JobStats),
    /// It has ended meanwhile.
    Gone,
    /// Only the holder knows.
    Closed,
}

// === impl Runtime ===

impl Runtime {
    pub fn stats(&self, id: &ContainerId) -> Result<ContainerStats, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        container.expect("measure", State::Running)?;
        let job = match self.look_at(&container) {
            Look::Seen(job) => job,
            Look::Gone | Look::Closed => pod.client()?.stats(id.as_str())?,
        };
        Ok(self.told(&container, job))
    }

    /// Of the containers that run.
    pub fn pod_stats(&self, id: &PodId) -> Result<PodStats, RuntimeError> {
        let pod = self.inner.pod(id)?;
        self.look(&pod).map_or_else(|| self.ask(&pod), Ok)
    }

    /// Of all pods. One whose holder is gone or silent is left out: the others must not wait for it.
    pub fn all_stats(&self) -> Vec<PodStats> {
        let pods = self.inner.all_pods();
        let mut found: Vec<_> = pods.iter().map(|pod| (pod, self.look(pod))).collect();
        let mut unseen: Vec<_> = found.iter_mut().filter(|(_, seen)| seen.is_none()).collect();
        let share = unseen.len().div_ceil(AT_ONCE).max(1);
        thread::scope(|scope| {
            for part in unseen.chunks_mut(share) {
                let ask = || part.iter_mut().for_each(|(pod, seen)| *seen = self.ask(pod).ok());
                // Without a thread its pods are left out, as those without a holder.
                drop(thread::Builder::new().stack_size(STACK).spawn_scoped(scope, ask));
            }
        });
        found.into_iter().filter_map(|(_, seen)| seen).collect()
    }

    /// Without the holder; none if that does not do.
    fn look(&self, pod: &Pod) -> Option<PodStats> {
        let mut containers = Vec::new();
        for container in pod.running() {
            match self.look_at(&container) {
                Look::Seen(job) => containers.push(self.told(&container, job)),
                Look::Gone => {}
                Look::Closed => return None,
            }
        }
        Some(PodStats { id: pod.id.clone(), containers })
    }

    fn look_at(&self, container: &Container) -> Look {
        match os::job::stats_of(&self.inner.node.layout.job(&container.id)) {
            Ok(Some(job)) => Look::Seen(job),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Look::Gone,
            Ok(None) | Err(_) => Look::Closed,
        }
    }

    fn ask(&self, pod: &Pod) -> Result<PodStats, RuntimeError> {
        let mut jobs: BTreeMap<String, JobStats> = BTreeMap::new();
        match pod.client().and_then(|mut client| Ok(client.all_stats()?)) {
            Ok(all) => jobs.extend(all),
            Err(RuntimeError::Client(e)) if is_gone(&e) => {}
            Err(other) => return Err(other),
        }
        let containers = pod.running().into_iter().filter_map(|container| {
            let job = jobs.remove(container.id.as_str())?;
            Some(self.told(&container, job))
        });
        Ok(PodStats { id: pod.id.clone(), containers: containers.collect() })
    }

    fn told(&self, container: &Container, job: JobStats) -> ContainerStats {
        let name = container.life().record.config.name.clone();
        ContainerStats { id: container.id.clone(), name, job, writable: self.usage_of(container) }
    }
}

// === impl Pod ===

impl Pod {
    fn running(&self) -> Vec<Arc<Container>> {
        let mut containers = self.all_containers();
        containers.retain(|container| container.state() == State::Running);
        containers
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
