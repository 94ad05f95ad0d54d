//! Every RPC: a request that is good, the codes of those that are not, and whether a good one changes anything.

use cri::api::*;
use prost::Message;
use tonic::Code::{self, *};

use super::Scene;
use crate::served::IMAGE;

pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) seed: fn(&Scene) -> Vec<u8>,
    pub(crate) refusals: &'static [Code],
    pub(crate) changes: bool,
}

/// An id that is empty, too long, or of nobody.
const OF_SOMEBODY: &[Code] = &[InvalidArgument, NotFound];
/// Who is not there is stopped and gone.
const OF_ANYBODY: &[Code] = &[InvalidArgument];
/// Nor is everybody there in the state for it.
const OF_ONE_WHO_CAN: &[Code] = &[InvalidArgument, NotFound, FailedPrecondition];
const NEVER: &[Code] = &[];
/// A request may want what processes of the host do not have, and what only a field may grant.
const CONFIG: &[Code] = &[InvalidArgument, NotFound, FailedPrecondition, PermissionDenied, Unimplemented];

macro_rules! calls {
    ($($name:ident($seed:expr), $refusals:expr, $changes:literal;)+) => {
        &[$(Call { name: stringify!($name), seed: |scene| message($seed(scene)), refusals: $refusals, changes: $changes }),+]
    };
}

fn message(request: impl Message) -> Vec<u8> {
    request.encode_to_vec()
}

fn nothing<T: Default>(_: &Scene) -> T {
    T::default()
}

fn spec(image: &str) -> Option<ImageSpec> {
    Some(ImageSpec { image: image.to_owned(), ..ImageSpec::default() })
}

pub(crate) const CALLS: &[Call] = calls! {
    Version(nothing::<VersionRequest>), NEVER, false;
    Status(nothing::<StatusRequest>), NEVER, false;
    RuntimeConfig(nothing::<RuntimeConfigRequest>), NEVER, false;
    UpdateRuntimeConfig(|_: &Scene| UpdateRuntimeConfigRequest {
        runtime_config: Some(RuntimeConfig { network_config: Some(NetworkConfig { pod_cidr: "10.0.0.0/8".into() }) }),
    }), &[InvalidArgument], false;

    RunPodSandbox(|scene: &Scene| RunPodSandboxRequest {
        config: Some(scene.pod_config("another")),
        runtime_handler: "hostprocess".into(),
    }), &[InvalidArgument, PermissionDenied, Unimplemented, AlreadyExists], true;
    StopPodSandbox(|scene: &Scene| StopPodSandboxRequest { pod_sandbox_id: scene.pod.clone() }), OF_ANYBODY, true;
    RemovePodSandbox(|scene: &Scene| RemovePodSandboxRequest { pod_sandbox_id: scene.pod.clone() }), OF_ANYBODY, true;
    PodSandboxStatus(|scene: &Scene| PodSandboxStatusRequest { pod_sandbox_id: scene.pod.clone(), verbose: true }),
        OF_SOMEBODY, false;
    PodSandboxStats(|scene: &Scene| PodSandboxStatsRequest { pod_sandbox_id: scene.pod.clone() }), OF_SOMEBODY, false;
    UpdatePodSandboxResources(|scene: &Scene| UpdatePodSandboxResourcesRequest {
        pod_sandbox_id: scene.pod.clone(),
        ..UpdatePodSandboxResourcesRequest::default()
    }), CONFIG, true;
    ListPodSandbox(nothing::<ListPodSandboxRequest>), OF_ANYBODY, false;
    StreamPodSandboxes(nothing::<StreamPodSandboxesRequest>), OF_ANYBODY, false;
    ListPodSandboxStats(nothing::<ListPodSandboxStatsRequest>), OF_ANYBODY, false;
    StreamPodSandboxStats(nothing::<StreamPodSandboxStatsRequest>), OF_ANYBODY, false;
    ListMetricDescriptors(nothing::<ListMetricDescriptorsRequest>), &[Unimplemented], false;
    ListPodSandboxMetrics(nothing::<ListPodSandboxMetricsRequest>), &[Unimplemented], false;
    StreamPodSandboxMetrics(nothing::<StreamPodSandboxMetricsRequest>), &[Unimplemented], false;

    CreateContainer(|scene: &Scene| CreateContainerRequest {
        pod_sandbox_id: scene.pod.clone(),
        config: Some(scene.config("another")),
        sandbox_config: None,
    }), CONFIG, true;
    StartContainer(|scene: &Scene| StartContainerRequest { container_id: scene.created.clone() }), OF_ONE_WHO_CAN, true;
    StopContainer(|scene: &Scene| StopContainerRequest { container_id: scene.running.clone(), timeout: 1 }),
        OF_ANYBODY, true;
    RemoveContainer(|scene: &Scene| RemoveContainerRequest { container_id: scene.running.clone() }), OF_ANYBODY, true;
    ContainerStatus(|scene: &Scene| ContainerStatusRequest { container_id: scene.running.clone(), verbose: true }),
        OF_SOMEBODY, false;
    ContainerStats(|scene: &Scene| ContainerStatsRequest { container_id: scene.running.clone() }), OF_ONE_WHO_CAN, false;
    UpdateContainerResources(|scene: &Scene| UpdateContainerResourcesRequest {
        container_id: scene.running.clone(),
        linux: Some(LinuxContainerResources { cpu_shares: 512, ..LinuxContainerResources::default() }),
        ..UpdateContainerResourcesRequest::default()
    }), CONFIG, true;
    ReopenContainerLog(|scene: &Scene| ReopenContainerLogRequest { container_id: scene.running.clone() }),
        OF_ONE_WHO_CAN, false;
    ListContainers(nothing::<ListContainersRequest>), OF_ANYBODY, false;
    StreamContainers(nothing::<StreamContainersRequest>), OF_ANYBODY, false;
    ListContainerStats(nothing::<ListContainerStatsRequest>), OF_ANYBODY, false;
    StreamContainerStats(nothing::<StreamContainerStatsRequest>), OF_ANYBODY, false;
    GetContainerEvents(nothing::<GetEventsRequest>), NEVER, false;

    ExecSync(|scene: &Scene| ExecSyncRequest {
        container_id: scene.running.clone(),
        cmd: ["./fixture", "print", "hello"].map(String::from).to_vec(),
        timeout: 60,
    }), &[InvalidArgument, NotFound, FailedPrecondition, DeadlineExceeded], false;
    Exec(|scene: &Scene| ExecRequest {
        container_id: scene.running.clone(),
        cmd: ["./fixture", "print", "hello"].map(String::from).to_vec(),
        stdout: true,
        ..ExecRequest::default()
    }), OF_ONE_WHO_CAN, false;
    Attach(|scene: &Scene| AttachRequest {
        container_id: scene.running.clone(),
        stdout: true,
        ..AttachRequest::default()
    }), OF_ONE_WHO_CAN, false;
    PortForward(|scene: &Scene| PortForwardRequest { pod_sandbox_id: scene.pod.clone(), port: vec![80] }),
        OF_ONE_WHO_CAN, false;

    ListImages(nothing::<ListImagesRequest>), OF_ANYBODY, false;
    StreamImages(nothing::<StreamImagesRequest>), OF_ANYBODY, false;
    ImageStatus(|_: &Scene| ImageStatusRequest { image: spec(IMAGE), verbose: true }), OF_ANYBODY, false;
    PullImage(|scene: &Scene| PullImageRequest { image: spec(&scene.pulled), ..PullImageRequest::default() }),
        &[InvalidArgument, NotFound, FailedPrecondition], false;
    RemoveImage(|_: &Scene| RemoveImageRequest { image: spec("example.com/none:1") }),
        &[InvalidArgument, FailedPrecondition], true;
    ImageFsInfo(nothing::<ImageFsInfoRequest>), NEVER, false;
};
