//! Pods: a directory, a record and, once something runs, a holder. No process of their own and no pause image.

use std::time::Duration;

use holder::clock;
use serde_json::Map;

use super::{Happened, Pod, Runtime, lock};
use crate::config::PodConfig;
use crate::error::{PodRefused, RuntimeError, chain};
use crate::fail;
use crate::ids::PodId;
use crate::record::{self, PodRecord, PodState, VERSION};

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
        let mut failures = Vec::new();
        let was = self.set_stopped(&pod)?;
        for container in pod.all_containers() {
            failures.extend(self.stop(&container.id, Duration::ZERO).err().map(|e| chain(&e)));
        }
        if !failures.is_empty() {
            return Err(RuntimeError::Several(failures));
        }
        if was == PodState::Ready {
            self.tell(&pod, None, Happened::Stopped);
        }
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
