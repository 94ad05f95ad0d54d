//! Pods, as kubelets want them told.

use std::collections::BTreeMap;

use runtime::config::PodConfig;
use runtime::pods::PodStatus;
use runtime::record::PodState;
use serde_json::json;

use super::time;
use crate::api::{
    LinuxPodSandboxStatus, Namespace, NamespaceMode, NamespaceOption, PodSandbox, PodSandboxAttributes,
    PodSandboxMetadata, PodSandboxNetworkStatus, PodSandboxState, PodSandboxStatus,
};
use crate::note::PodNote;
use crate::wire::ALPHA;

pub fn metadata(pod: &PodConfig) -> PodSandboxMetadata {
    PodSandboxMetadata {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        namespace: pod.namespace.clone(),
        attempt: pod.attempt,
    }
}

pub fn state(state: PodState) -> PodSandboxState {
    match state {
        PodState::Ready => PodSandboxState::SandboxReady,
        PodState::Stopped => PodSandboxState::SandboxNotready,
    }
}

/// `address` is the host's: its pods are on its network.
pub fn status(pod: &PodStatus, address: &str) -> PodSandboxStatus {
    let config = &pod.config;
    let note = PodNote::read(config.note.as_ref());
    // A kubelet makes a pod anew whose network is not the one it asked for.
    let asked = note.namespaces.unwrap_or_else(|| NamespaceOption {
        network: NamespaceMode::Node.into(),
        pid: NamespaceMode::Container.into(),
        ipc: NamespaceMode::Pod.into(),
        ..NamespaceOption::default()
    });
    PodSandboxStatus {
        id: pod.id.to_string(),
        metadata: Some(metadata(config)),
        state: state(pod.state).into(),
        created_at: time::nanos(&pod.created),
        network: Some(PodSandboxNetworkStatus { ip: address.to_owned(), additional_ips: Vec::new() }),
        linux: Some(LinuxPodSandboxStatus { namespaces: Some(Namespace { options: Some(asked) }) }),
        labels: config.labels.clone(),
        annotations: config.annotations.clone(),
        runtime_handler: config.handler.clone(),
    }
}

pub fn listed(pod: &PodStatus) -> PodSandbox {
    PodSandbox {
        id: pod.id.to_string(),
        metadata: Some(metadata(&pod.config)),
        state: state(pod.state).into(),
        created_at: time::nanos(&pod.created),
        labels: pod.config.labels.clone(),
        annotations: pod.config.annotations.clone(),
        runtime_handler: pod.config.handler.clone(),
    }
}

pub fn attributes(pod: &PodStatus) -> PodSandboxAttributes {
    PodSandboxAttributes {
        id: pod.id.to_string(),
        metadata: Some(metadata(&pod.config)),
        labels: pod.config.labels.clone(),
        annotations: pod.config.annotations.clone(),
    }
}

/// What `crictl inspectp` shows beside the status. People look there for the annotation (HP-30).
pub fn info(pod: &PodStatus) -> BTreeMap<String, String> {
    let config = &pod.config;
    let note = PodNote::read(config.note.as_ref());
    let told = json!({
        "hostProcess": config.host_process,
        "runtimeHandler": config.handler,
        "mode": config.wanted_mode().ok().flatten(),
        "logDirectory": config.log_directory,
        "resources": note.resources,
        "overhead": note.overhead,
        "containers": pod.containers.iter().map(|each| each.id.to_string()).collect::<Vec<_>>(),
        "runtimeSpec": {
            "hostname": config.hostname,
            "annotations": { ALPHA: config.host_process.to_string() },
        },
    });
    [("info".to_owned(), told.to_string())].into()
}
