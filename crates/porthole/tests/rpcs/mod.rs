//! A running service, what is there for requests to be about, and its answers to whatever bytes it is sent.

pub(crate) mod asked;
mod calls;
mod change;
mod raw;
mod scene;

use std::path::{Path, PathBuf};
use std::time::Duration;

use cri::api::runtime_service_client::RuntimeServiceClient;
use cri::api::*;
use protox::prost_reflect::{DescriptorPool, MethodDescriptor};
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Options, Registry};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::served::{Agent, World};
use raw::Raw;

pub(crate) use calls::{CALLS, Call};
pub(crate) use scene::Scene;

/// Nothing here takes as long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Service {
    pub(crate) world: World,
    agent: Agent,
    client: RuntimeServiceClient<Channel>,
    channel: Channel,
    registry: Registry,
    methods: Vec<MethodDescriptor>,
}

/// Everything below the root and the logs, and every container's state.
pub(crate) type Traces = (Vec<(PathBuf, u64)>, Vec<(String, i32)>, Vec<(String, i32)>);

// === impl Service ===

impl Service {
    pub(crate) fn start() -> Service {
        let world = World::new();
        std::fs::create_dir(world.path("logs")).unwrap();
        let said = std::fs::File::create(world.path("said")).unwrap();
        let (agent, uri) = world.agent_saying(&[], said.into());
        let channel = world.channel(&uri);
        let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cri/proto");
        let files = protox::compile(["runtime.proto"], [proto]).unwrap();
        let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
        let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>()).collect();
        let registry = Registry::start(Options::default()).unwrap();
        let client = RuntimeServiceClient::new(channel.clone());
        Service { world, agent, client, channel, registry, methods }
    }

    pub(crate) fn methods(&self) -> &[MethodDescriptor] {
        &self.methods
    }

    /// Everything as it is at the beginning, whatever was done to it.
    pub(crate) fn scene(&self) -> Scene {
        let logs = self.world.path("logs");
        let pulled = format!("{}/try/other:1", self.registry.address());
        let mut scene =
            Scene { logs, pod: String::new(), running: String::new(), created: String::new(), pulled };
        let mut client = self.client.clone();
        self.world.threads.block_on(async {
            let all =
                client.list_pod_sandbox(ListPodSandboxRequest::default()).await.unwrap().into_inner().items;
            for pod in all {
                client.remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: pod.id }).await.unwrap();
            }
            // A log may have been wanted in a directory of its own.
            std::fs::remove_dir_all(&scene.logs).unwrap();
            std::fs::create_dir(&scene.logs).unwrap();
            let config = Some(scene.pod_config("web"));
            let request = RunPodSandboxRequest { config, runtime_handler: "hostprocess".to_owned() };
            scene.pod = client.run_pod_sandbox(request).await.unwrap().into_inner().pod_sandbox_id;
            for name in ["running", "created"] {
                let request = CreateContainerRequest {
                    pod_sandbox_id: scene.pod.clone(),
                    config: Some(scene.config(name)),
                    sandbox_config: None,
                };
                let id = client.create_container(request).await.unwrap().into_inner().container_id;
                if name == "running" {
                    let request = StartContainerRequest { container_id: id.clone() };
                    client.start_container(request).await.unwrap();
                    scene.running = id;
                } else {
                    scene.created = id;
                }
            }
        });
        crate::served::eventually("the container is there", || {
            let log = std::fs::read_to_string(scene.logs.join("running.log")).unwrap_or_default();
            log.contains("ready").then_some(())
        });
        scene
    }

    /// Puts an image there that the store has not.
    pub(crate) fn push(&self) {
        let facts = os::host::facts().unwrap();
        let layer = Layer::new().file("hello", b"hello".as_slice(), 0o644);
        let image = ImageBuilder::new(&facts.os, &facts.architecture).layer(layer).build().unwrap();
        self.registry.push(&image, "try/other:1").unwrap();
    }

    pub(crate) fn traces(&self) -> Traces {
        let mut files = Vec::new();
        list(&self.world.root(), &mut files);
        list(&self.world.path("logs"), &mut files);
        files.sort();
        let mut client = self.client.clone();
        self.world.threads.block_on(async {
            let pods = client.list_pod_sandbox(ListPodSandboxRequest::default()).await.unwrap().into_inner();
            let all = client.list_containers(ListContainersRequest::default()).await.unwrap().into_inner();
            let mut pods: Vec<_> = pods.items.into_iter().map(|it| (it.id, it.state)).collect();
            let mut containers: Vec<_> = all.containers.into_iter().map(|it| (it.id, it.state)).collect();
            pods.sort();
            containers.sort();
            (files, pods, containers)
        })
    }

    /// Sends these bytes, and gives the bytes of the first answer if it is a good one.
    pub(crate) fn call(&self, method: &MethodDescriptor, bytes: &[u8]) -> Result<Vec<u8>, Status> {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        let path: tonic::codegen::http::uri::PathAndQuery = path.parse().expect("a path");
        let mut client = tonic::client::Grpc::new(self.channel.clone()).max_decoding_message_size(64 << 20);
        let answer = async {
            client.ready().await.map_err(|e| Status::unknown(e.to_string()))?;
            let request = Request::new(bytes.to_vec());
            if !method.is_server_streaming() {
                return client.unary(request, path, Raw).await.map(Response::into_inner);
            }
            let mut answers = client.server_streaming(request, path, Raw).await?.into_inner();
            // Events go on for ever; of everything else all of it is there at once.
            let first = match method.name() {
                "GetContainerEvents" => None,
                _ => answers.message().await?,
            };
            Ok(first.unwrap_or_default())
        };
        let late = async { tokio::time::timeout(PATIENCE, answer).await };
        let late = self.world.threads.block_on(late);
        late.unwrap_or_else(|_| Err(Status::new(Code::Cancelled, "no answer")))
    }

    pub(crate) fn pod_is_ready(&self, id: &str) -> bool {
        let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), verbose: false };
        let answer = self.world.threads.block_on(self.client.clone().pod_sandbox_status(request)).unwrap();
        answer.into_inner().status.is_some_and(|status| status.state() == PodSandboxState::SandboxReady)
    }

    pub(crate) fn start_container(&self, id: &str) -> (Result<(), Status>, ContainerStatus) {
        let mut client = self.client.clone();
        let (start, look) = (
            StartContainerRequest { container_id: id.to_owned() },
            ContainerStatusRequest { container_id: id.to_owned(), verbose: false },
        );
        self.world.threads.block_on(async {
            let started = client.start_container(start).await.map(drop);
            (started, client.container_status(look).await.unwrap().into_inner().status.unwrap())
        })
    }

    /// Whether it runs, how many files it has open, and that it has said nothing of a panic.
    pub(crate) fn open_files(&self) -> usize {
        let said = std::fs::read_to_string(self.world.path("said")).unwrap();
        assert!(!said.contains("panicked"), "{said}");
        std::fs::read_dir(format!("/proc/{}/fd", self.agent.0.id())).expect("it runs").count()
    }

    /// Nothing is left of what was there, and it ends well.
    pub(crate) fn end(self, scene: &Scene) {
        self.world.remove(&mut self.client.clone(), &scene.pod);
        self.agent.signal("TERM");
        assert_eq!(self.agent.code(), Some(0));
    }
}

fn list(path: &Path, all: &mut Vec<(PathBuf, u64)>) {
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        // That a layer has come to the disk is noted in the background.
        let Some(found) = entry.metadata().ok().filter(|_| entry.file_name() != "synced") else { continue };
        all.push((entry.path(), if found.is_dir() { 0 } else { found.len() }));
        if found.is_dir() {
            list(&entry.path(), all);
        }
    }
}
