//! Pods: a directory, a record and, once something runs, a holder. No process of their own and no pause image.

use std::time::Duration;

use holder::clock;
use serde_json::{Map, Value};

use super::{Happened, Pod, Runtime, lock};
use crate::config::PodConfig;
use crate::error::{PodRefused, RuntimeError, chain};
use crate::fail;
use crate::ids::PodId;
use crate::record::{self, PodRecord, PodState, VERSION};

/// What a pod has that says nothing about it, as with Kubernetes.
const GRACE: Duration = Duration::from_secs(30);
/// RuntimeClass handlers that put a pod into a virtual machine begin like this.
const HYPERVISOR: &str = "runhcs-wcow-hypervisor";

// === impl Runtime ===

impl Runtime {
    /// A pod in which containers can be made. The same again is the same pod.
    pub fn run_pod(&self, config: PodConfig) -> Result<PodId, RuntimeError> {
        let id = PodId::parse(config.id.as_str())?;
        refuse(&config)?;
        match self.inner.pod(&id) {
            Err(RuntimeError::NoPod(_)) => {}
            Err(other) => return Err(other),
            Ok(pod) => return known(&pod, &config),
        }
        let record = PodRecord {
            v: VERSION,
            state: PodState::Ready,
            created: clock::now(),
            config,
            unknown: Map::new(),
        };
        let pod = Pod::new(&self.inner.node, id.clone(), record);
        fail::point("pod-begin");
        let failed = |source| RuntimeError::Write { path: pod.dir.path().to_owned(), source };
        os::file::make_private_dir(pod.dir.path()).map_err(failed)?;
        std::fs::create_dir_all(pod.dir.containers()).map_err(failed)?;
        fail::point("pod-directory");
        // The record comes last: a directory without it is swept.
        record::write(&pod.dir.record(), &*lock(&pod.record)).map_err(failed)?;
        fail::point("pod-recorded");
        lock(&self.inner.pods).insert(id.clone(), pod.clone());
        self.tell(&pod, None, Happened::Ready);
        Ok(id)
    }

    /// Ends whatever runs of a pod; nothing can be made in it afterwards. One that is not there is no error.
    pub fn stop_pod(&self, id: &PodId) -> Result<(), RuntimeError> {
        let pod = match self.inner.pod(id) {
            Err(RuntimeError::NoPod(_)) => return Ok(()),
            other => other?,
        };
        self.end_pod(&pod, Duration::ZERO)
    }

    /// The same for a person: what runs has the grace period, by default the pod's own, and the pod must be there.
    pub fn stop_pod_within(&self, id: &PodId, grace: Option<Duration>) -> Result<(), RuntimeError> {
        let pod = self.inner.pod(id)?;
        let own = lock(&pod.record).config.origin.as_ref().map(|it| Duration::from_secs(it.grace_seconds));
        self.end_pod(&pod, grace.or(own).unwrap_or(GRACE))
    }

    fn end_pod(&self, pod: &Pod, grace: Duration) -> Result<(), RuntimeError> {
        let was = self.set_stopped(pod)?;
        let containers = pod.all_containers();
        // All are asked before any is waited for: they share the grace period. What fails here fails again below.
        containers.iter().for_each(|container| drop(self.ask_to_stop(&container.id, grace)));
        let ended = containers.iter().map(|container| self.stop(&container.id, grace));
        let failures: Vec<_> = ended.filter_map(|ended| ended.err().map(|e| chain(&e))).collect();
        if !failures.is_empty() {
            return Err(RuntimeError::Several(failures));
        }
        if was == PodState::Ready {
            self.tell(pod, None, Happened::Stopped);
        }
        Ok(())
    }

    /// Other words to keep for whoever asked for the pod.
    pub fn note_pod(&self, id: &PodId, note: Option<Value>) -> Result<(), RuntimeError> {
        let pod = self.inner.pod(id)?;
        let mut known = lock(&pod.record);
        let mut noted = known.clone();
        noted.config.note = note;
        record::write(&pod.dir.record(), &noted)
            .map_err(|source| RuntimeError::Write { path: pod.dir.record(), source })?;
        *known = noted;
        Ok(())
    }

    fn set_stopped(&self, pod: &Pod) -> Result<PodState, RuntimeError> {
        let mut known = lock(&pod.record);
        let was = known.state;
        if was == PodState::Ready {
            let stopped = PodRecord { state: PodState::Stopped, ..known.clone() };
            record::write(&pod.dir.record(), &stopped)
                .map_err(|source| RuntimeError::Write { path: pod.dir.record(), source })?;
            fail::point("pod-stopped");
            *known = stopped;
        }
        Ok(was)
    }
}

/// HP-26, HP-33: a HostProcess pod takes no other road, and no other pod takes this one.
fn refuse(config: &PodConfig) -> Result<(), PodRefused> {
    config.wanted_mode()?;
    match config {
        PodConfig { host_process: true, handler, .. } if handler.starts_with(HYPERVISOR) => {
            Err(PodRefused::HypervisorHandler(handler.clone()))
        }
        PodConfig { host_process: true, .. } => Ok(()),
        PodConfig { host_network: true, .. } => Err(PodRefused::HostNetwork),
        _ => Err(PodRefused::Isolated),
    }
}

fn known(pod: &Pod, config: &PodConfig) -> Result<PodId, RuntimeError> {
    let record = lock(&pod.record);
    if record.state != PodState::Ready {
        return Err(RuntimeError::PodState { verb: "run", id: pod.id.clone(), found: record.state });
    }
    if record.config != *config {
        return Err(RuntimeError::Taken { what: "pod", id: pod.id.to_string() });
    }
    Ok(pod.id.clone())
}
