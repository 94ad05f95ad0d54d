//! Containers: create, start, stop, remove, look, change.

use std::path::PathBuf;

use ::images::platform::Isolation;
use ::images::{Access, Caller, Source, Wanted};
use runtime::error::RuntimeError;
use runtime::pods::ContainerFilter as Filter;
use runtime::prepare::PrepareError;
use runtime::record::State;
use runtime::{ContainerId, PodId, image_owner};

use super::Inner;
use super::ids::if_there;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::note::{ContainerNote, PodNote};
use crate::wire::{Asked, OfPod, WireError};
use crate::{told, wire};

// === impl Inner ===

impl Inner {
    pub(super) fn create_container(
        &self,
        request: CreateContainerRequest,
        patience: &Patience,
    ) -> Result<CreateContainerResponse, CriError> {
        let pod = self.pod_id("pod_sandbox_id", &request.pod_sandbox_id)?;
        let config = self.runtime.pod_status(&pod)?.config;
        let note = PodNote::read(config.note.as_ref());
        let of_pod = OfPod { namespace: &config.namespace, note: &note };
        let asked = wire::container(request.config, of_pod, &self.rules(), self.processors)?;
        let id = ContainerId::of(&pod, asked.name(), asked.attempt());
        let made = self.make(&pod, asked, &id, patience);
        if made.is_err() {
            // What was wrong is what the caller hears, not what could not be tidied up.
            drop(self.runtime.release_image(&id));
        }
        Ok(CreateContainerResponse { container_id: made?.to_string() })
    }

    /// The image is the container's from the moment it is found.
    fn make(
        &self,
        pod: &PodId,
        asked: Asked,
        id: &ContainerId,
        patience: &Patience,
    ) -> Result<ContainerId, CriError> {
        let store = &self.runtime.node().images;
        let missing = || CriError::NotFound { what: "image", id: asked.image.clone() };
        let status = store.status(&asked.image)?.ok_or_else(missing)?;
        let (source, access, owner) = (Source::Dir(PathBuf::new()), Access::default(), image_owner(id));
        let wanted = Wanted {
            source: &source,
            policy: None,
            host: &self.host,
            isolation: Isolation::HostProcess,
            access: &access,
            pin: Some(&owner),
        };
        let caller = Caller { tell: &|_| {}, gave_up: &|| patience.is_lost() };
        let image = store.ready_here(status.id.as_str(), &wanted, caller)?.ok_or_else(missing)?;
        // It may have been unpacked only now, or by a verb that did not wait for the disk.
        self.settle();
        let config = asked.with(image, told::image::reference(&status));
        match self.runtime.create(pod, config.clone()) {
            Err(error) if is_for_the_start(&error) => Ok(self.runtime.keep_refusal(pod, &config, &error)?),
            made => Ok(made?),
        }
    }

    pub(super) fn start_container(
        &self,
        request: StartContainerRequest,
        _: &Patience,
    ) -> Result<StartContainerResponse, CriError> {
        let id = self.container_id("container_id", &request.container_id)?;
        match self.runtime.start(&id) {
            Err(error @ RuntimeError::State { found: State::Exited, .. }) => Err(self.why_not(&id, error)),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(StartContainerResponse {}),
        }
    }

    /// Of a container that was never to run, what was wrong with it.
    fn why_not(&self, id: &ContainerId, error: RuntimeError) -> CriError {
        match self.runtime.status(id) {
            Ok(status) if told::container::never_started(status.exit.as_ref()) => {
                CriError::NeverStarted { id: id.to_string(), why: status.message.unwrap_or_default() }
            }
            _ => error.into(),
        }
    }

    pub(super) fn stop_container(
        &self,
        request: StopContainerRequest,
        _: &Patience,
    ) -> Result<StopContainerResponse, CriError> {
        let grace = wire::grace(&request)?;
        if let Some(id) = if_there(self.container_id("container_id", &request.container_id))? {
            self.runtime.stop(&id, grace)?;
        }
        Ok(StopContainerResponse {})
    }

    pub(super) fn remove_container(
        &self,
        request: RemoveContainerRequest,
        _: &Patience,
    ) -> Result<RemoveContainerResponse, CriError> {
        if let Some(id) = if_there(self.container_id("container_id", &request.container_id))? {
            self.runtime.remove(&id)?;
        }
        Ok(RemoveContainerResponse {})
    }

    pub(super) fn container_status(
        &self,
        request: ContainerStatusRequest,
        _: &Patience,
    ) -> Result<ContainerStatusResponse, CriError> {
        let status = self.runtime.status(&self.container_id("container_id", &request.container_id)?)?;
        let info = if request.verbose { told::container::info(&status) } else { Default::default() };
        Ok(ContainerStatusResponse { status: Some(told::container::status(&status)), info })
    }

    pub(super) fn list_containers(
        &self,
        request: ListContainersRequest,
        _: &Patience,
    ) -> Result<ListContainersResponse, CriError> {
        Ok(ListContainersResponse { containers: self.listed_containers(request.filter)? })
    }

    pub(super) fn stream_containers(
        &self,
        request: StreamContainersRequest,
        _: &Patience,
    ) -> Result<StreamContainersResponse, CriError> {
        Ok(StreamContainersResponse { containers: self.listed_containers(request.filter)? })
    }

    fn listed_containers(&self, filter: Option<ContainerFilter>) -> Result<Vec<Container>, CriError> {
        let asked = filter.unwrap_or_default();
        let state = asked.state.map(|value| state(value.state)).transpose()?;
        // Nobody is in a state that nobody knows.
        if state == Some(None) {
            return Ok(Vec::new());
        }
        let Some(filter) = self.filter(&asked.id, &asked.pod_sandbox_id, asked.label_selector)? else {
            return Ok(Vec::new());
        };
        let mut found = self.runtime.containers(&Filter { state: state.flatten(), ..filter });
        found.sort_by(|a, b| b.created.cmp(&a.created));
        Ok(found.iter().map(told::container::listed).collect())
    }

    /// None if nobody can match.
    pub(super) fn filter(
        &self,
        id: &str,
        pod: &str,
        labels: std::collections::BTreeMap<String, String>,
    ) -> Result<Option<Filter>, CriError> {
        let mut filter = Filter { labels, ..Filter::default() };
        if !id.is_empty() {
            filter.id = if_there(self.container_id("filter.id", id))?;
        }
        if !pod.is_empty() {
            filter.pod = if_there(self.pod_id("filter.pod_sandbox_id", pod))?;
        }
        let lost = !id.is_empty() && filter.id.is_none() || !pod.is_empty() && filter.pod.is_none();
        Ok((!lost).then_some(filter))
    }

    pub(super) fn update_container(
        &self,
        request: UpdateContainerResourcesRequest,
        _: &Patience,
    ) -> Result<UpdateContainerResourcesResponse, CriError> {
        let id = self.container_id("container_id", &request.container_id)?;
        let status = self.runtime.status(&id)?;
        let note = ContainerNote::read(status.config.note.as_ref());
        let change = wire::update(&request, note, self.processors)?;
        self.runtime.update_noting(&id, change.limits, Some(change.note.into_value()))?;
        Ok(UpdateContainerResourcesResponse {})
    }

    pub(super) fn reopen_log(
        &self,
        request: ReopenContainerLogRequest,
        _: &Patience,
    ) -> Result<ReopenContainerLogResponse, CriError> {
        self.runtime.reopen_log(&self.container_id("container_id", &request.container_id)?)?;
        Ok(ReopenContainerLogResponse {})
    }
}

/// Of a bad account or a program that is not there a kubelet must hear from StartContainer: the pod ends then, as its
/// restart policy says. Refused before, it would wait for ever.
fn is_for_the_start(error: &RuntimeError) -> bool {
    match error {
        RuntimeError::Refused { source, .. } => {
            matches!(**source, PrepareError::Account(_) | PrepareError::Start(_))
        }
        _ => false,
    }
}

fn state(number: i32) -> Result<Option<State>, WireError> {
    match ContainerState::try_from(number) {
        Ok(ContainerState::ContainerCreated) => Ok(Some(State::Created)),
        Ok(ContainerState::ContainerRunning) => Ok(Some(State::Running)),
        Ok(ContainerState::ContainerExited) => Ok(Some(State::Exited)),
        Ok(ContainerState::ContainerUnknown) => Ok(None),
        Err(_) => Err(WireError::invalid("filter.state", number, "a ContainerState, 0 to 3")),
    }
}
