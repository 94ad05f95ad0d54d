//! Containers, as kubelets want them told.

use std::collections::BTreeMap;

use holder::exit::{ExitReason, ExitRecord};
use os::user::Identity;
use runtime::pods::ContainerStatus;
use runtime::record::State;
use serde_json::json;

use super::time;
use crate::api::{
    self, Container, ContainerAttributes, ContainerMetadata, ContainerResources, ContainerState,
    ContainerUser, ImageSpec, LinuxContainerUser,
};
use crate::note::ContainerNote;
use crate::wire::ALPHA;

pub fn metadata(container: &ContainerStatus) -> ContainerMetadata {
    ContainerMetadata { name: container.config.name.clone(), attempt: container.config.attempt }
}

pub fn state(state: State) -> ContainerState {
    match state {
        State::Created => ContainerState::ContainerCreated,
        State::Running => ContainerState::ContainerRunning,
        State::Exited => ContainerState::ContainerExited,
    }
}

/// The image as the pod names it; kubelets put that into the pod's status.
fn image(note: &ContainerNote) -> ImageSpec {
    let named = &note.image.user_specified_image;
    let image = if named.is_empty() { &note.image.image } else { named };
    ImageSpec { image: image.clone(), ..note.image.clone() }
}

pub fn listed(container: &ContainerStatus) -> Container {
    let note = ContainerNote::read(container.config.note.as_ref());
    Container {
        id: container.id.to_string(),
        pod_sandbox_id: container.pod.to_string(),
        metadata: Some(metadata(container)),
        image: Some(image(&note)),
        image_ref: image_ref(container),
        state: state(container.state).into(),
        created_at: time::nanos(&container.created),
        labels: container.config.labels.clone(),
        annotations: container.config.annotations.clone(),
        image_id: container.config.image_id.clone(),
    }
}

fn image_ref(container: &ContainerStatus) -> String {
    let known = [&container.config.image_ref, &container.config.image_id];
    known.into_iter().find(|text| !text.is_empty()).cloned().unwrap_or_default()
}

pub fn attributes(container: &ContainerStatus) -> ContainerAttributes {
    ContainerAttributes {
        id: container.id.to_string(),
        metadata: Some(metadata(container)),
        labels: container.config.labels.clone(),
        annotations: container.config.annotations.clone(),
    }
}

pub fn status(container: &ContainerStatus) -> api::ContainerStatus {
    let note = ContainerNote::read(container.config.note.as_ref());
    let exit = container.exit.as_ref();
    let started = container.started.as_deref().or_else(|| exit.map(|exit| exit.started.as_str()));
    api::ContainerStatus {
        id: container.id.to_string(),
        metadata: Some(metadata(container)),
        state: state(container.state).into(),
        created_at: time::nanos(&container.created),
        started_at: started.filter(|_| !never_started(exit)).map_or(0, time::nanos),
        finished_at: exit.map_or(0, |exit| time::nanos(&exit.finished)),
        exit_code: exit.map_or(0, |exit| exit.code.cast_signed()),
        image: Some(image(&note)),
        image_ref: image_ref(container),
        reason: exit.map(|exit| exit.reason.to_string()).unwrap_or_default(),
        message: container.message.clone().unwrap_or_default(),
        labels: container.config.labels.clone(),
        annotations: container.config.annotations.clone(),
        log_path: container.log.to_string_lossy().into_owned(),
        resources: Some(ContainerResources { linux: note.linux, windows: note.windows }),
        image_id: container.config.image_id.clone(),
        user: container.identity.as_ref().and_then(user),
        stop_signal: note.stop_signal,
        // As they were asked for, to the byte: a kubelet looks for its own.
        mounts: note.mounts,
    }
}

pub fn never_started(exit: Option<&ExitRecord>) -> bool {
    exit.is_some_and(|exit| exit.reason == ExitReason::StartError)
}

/// Windows has no numbers for accounts, and a kubelet there must not be told any.
fn user(identity: &Identity) -> Option<ContainerUser> {
    let (uid, gid, groups) = match identity {
        Identity::Own => {
            let (uid, gid) = os::user::own_ids()?;
            (uid, gid, vec![gid])
        }
        Identity::Ids { uid, gid, groups } => (*uid, *gid, groups.clone()),
        _ => return None,
    };
    let supplemental_groups = groups.into_iter().map(i64::from).collect();
    Some(ContainerUser {
        linux: Some(LinuxContainerUser { uid: uid.into(), gid: gid.into(), supplemental_groups }),
    })
}

/// What `crictl inspect` shows beside the status. No variable's value and no argument is in it.
pub fn info(container: &ContainerStatus) -> BTreeMap<String, String> {
    let told = json!({
        "sandboxID": container.pod.to_string(),
        "pid": container.pid.unwrap_or(0),
        "mode": container.mode,
        "imageAt": container.image,
        "limits": container.config.limits,
        "variables": container.config.variables,
        "workingDir": container.config.working_dir,
        "account": container.identity.as_ref().map(Identity::name),
        "warnings": container.warnings,
        "runtimeSpec": { "annotations": { ALPHA: "true" } },
    });
    [("info".to_owned(), told.to_string())].into()
}
