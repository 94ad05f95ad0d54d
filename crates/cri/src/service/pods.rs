//! Pods: run, stop, remove, look.

use runtime::pods::PodFilter;
use runtime::record::PodState;

use super::Inner;
use super::ids::if_there;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::note::PodNote;
use crate::wire::WireError;
use crate::{told, wire};

// === impl Inner ===

impl Inner {
    pub(super) fn run_pod(
        &self,
        request: RunPodSandboxRequest,
        _: &Patience,
    ) -> Result<RunPodSandboxResponse, CriError> {
        let config = wire::pod(request, &self.rules())?;
        let id = self.runtime.run_pod(config)?;
        Ok(RunPodSandboxResponse { pod_sandbox_id: id.to_string() })
    }

    pub(super) fn stop_pod(
        &self,
        request: StopPodSandboxRequest,
        _: &Patience,
    ) -> Result<StopPodSandboxResponse, CriError> {
        if let Some(id) = if_there(self.pod_id("pod_sandbox_id", &request.pod_sandbox_id))? {
            self.runtime.stop_pod(&id)?;
        }
        Ok(StopPodSandboxResponse {})
    }

    pub(super) fn remove_pod(
        &self,
        request: RemovePodSandboxRequest,
        _: &Patience,
    ) -> Result<RemovePodSandboxResponse, CriError> {
        if let Some(id) = if_there(self.pod_id("pod_sandbox_id", &request.pod_sandbox_id))? {
            self.runtime.remove_pod(&id)?;
        }
        Ok(RemovePodSandboxResponse {})
    }

    pub(super) fn pod_status(
        &self,
        request: PodSandboxStatusRequest,
        _: &Patience,
    ) -> Result<PodSandboxStatusResponse, CriError> {
        let pod = self.runtime.pod_status(&self.pod_id("pod_sandbox_id", &request.pod_sandbox_id)?)?;
        Ok(PodSandboxStatusResponse {
            status: Some(told::pod::status(&pod, &self.address)),
            info: if request.verbose { told::pod::info(&pod) } else { Default::default() },
            containers_statuses: pod.containers.iter().map(told::container::status).collect(),
            timestamp: told::time::now(),
        })
    }

    pub(super) fn list_pods(
        &self,
        request: ListPodSandboxRequest,
        _: &Patience,
    ) -> Result<ListPodSandboxResponse, CriError> {
        Ok(ListPodSandboxResponse { items: self.listed_pods(request.filter)? })
    }

    pub(super) fn stream_pods(
        &self,
        request: StreamPodSandboxesRequest,
        _: &Patience,
    ) -> Result<StreamPodSandboxesResponse, CriError> {
        Ok(StreamPodSandboxesResponse { pod_sandboxes: self.listed_pods(request.filter)? })
    }

    fn listed_pods(&self, filter: Option<PodSandboxFilter>) -> Result<Vec<PodSandbox>, CriError> {
        let filter = filter.unwrap_or_default();
        let id = match filter.id.as_str() {
            "" => None,
            text => match if_there(self.pod_id("filter.id", text))? {
                Some(id) => Some(id),
                None => return Ok(Vec::new()),
            },
        };
        let state = filter.state.map(|value| pod_state(value.state)).transpose()?;
        let mut pods = self.runtime.pods(&PodFilter { id, state, labels: filter.label_selector });
        pods.sort_by(|a, b| b.created.cmp(&a.created));
        Ok(pods.iter().map(told::pod::listed).collect())
    }

    pub(super) fn update_pod(
        &self,
        request: UpdatePodSandboxResourcesRequest,
        _: &Patience,
    ) -> Result<UpdatePodSandboxResourcesResponse, CriError> {
        let id = self.pod_id("pod_sandbox_id", &request.pod_sandbox_id)?;
        let pod = self.runtime.pod_status(&id)?;
        let mut note = PodNote::read(pod.config.note.as_ref());
        wire::pod_resources(&request, &mut note)?;
        self.runtime.note_pod(&id, Some(note.into_value()))?;
        Ok(UpdatePodSandboxResourcesResponse {})
    }
}

fn pod_state(number: i32) -> Result<PodState, WireError> {
    match PodSandboxState::try_from(number) {
        Ok(PodSandboxState::SandboxReady) => Ok(PodState::Ready),
        Ok(PodSandboxState::SandboxNotready) => Ok(PodState::Stopped),
        Err(_) => Err(WireError::invalid("filter.state", number, "a PodSandboxState, 0 or 1")),
    }
}
