//! A node with an image, its server on a socket, and clients.

use std::future::Future;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cri::api::image_service_client::ImageServiceClient;
use cri::api::runtime_service_client::RuntimeServiceClient;
use cri::api::*;
use cri::listen::Listen;
use cri::streams::Streams;
use cri::{Cri, Server, Settings};
use hyper_util::rt::TokioIo;
use images::{Access, Reference};
use plan::Style;
use runtime::pods::PodFilter;
use runtime::{Node, Runtime};
use testbed::image::{ImageBuilder, Layer};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Response, Status};

pub(crate) const IMAGE: &str = "example.com/fixture:1";

pub(crate) struct World {
    dir: tempfile::TempDir,
    threads: tokio::runtime::Runtime,
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    served: Option<tokio::task::JoinHandle<bool>>,
    channel: Channel,
    pub(crate) cri: Cri,
}

pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn program(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run this by `cargo xtask test`"))
        .into()
}

/// An image with the fixture at its root.
pub(crate) fn fixture_image() -> testbed::image::Image {
    let layer = Layer::new().host_file("fixture", program("PORTHOLE_FIXTURE"), 0o755).unwrap();
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    ImageBuilder::new("linux", arch).layer(layer).entrypoint(["./fixture"]).build().unwrap()
}

fn connect(threads: &tokio::runtime::Runtime, socket: PathBuf) -> Channel {
    let dial = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    let endpoint = Endpoint::from_static("http://localhost");
    threads.block_on(endpoint.connect_with_connector(dial)).expect("the server answers")
}

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        World::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> World {
        let dir = tempfile::tempdir().unwrap();
        // As a kubelet does it.
        std::fs::create_dir(dir.path().join("logs")).unwrap();
        // Other accounts get to their images.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let holder = std::fs::read(program("PORTHOLE_HOLD")).unwrap();
        let node = Node::open(&dir.path().join("root"), &holder).unwrap();
        let archive = dir.path().join("image.tar");
        fixture_image().write_oci_archive(&archive).unwrap();
        let name = Reference::parse(IMAGE).unwrap();
        node.images.load(&archive, &name, &node.facts.os, &node.facts.architecture).unwrap();
        let runtime = Runtime::open_with(node, settings.options.clone());
        let cri = Cri::new(runtime.clone(), settings, Access::default()).unwrap();
        let socket = dir.path().join("cri.sock");
        let listen = Listen::parse(&format!("unix://{}", socket.display()), Style::Unix).unwrap();
        let server = threads.block_on(Server::bind(listen)).unwrap();
        let (stop, asked) = oneshot::channel::<()>();
        let streams = threads.block_on(Streams::serve(&cri)).unwrap();
        threads.spawn(streams.run(std::future::pending()));
        let served = threads.spawn(server.run(cri.clone(), async { drop(asked.await) }));
        let channel = connect(&threads, socket);
        let (runtime, stop, served) = (Some(runtime), Some(stop), Some(served));
        World { dir, threads, runtime, stop, served, channel, cri }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn runtime(&self) -> RuntimeServiceClient<Channel> {
        RuntimeServiceClient::new(self.channel.clone()).max_decoding_message_size(64 << 20)
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub(crate) fn images(&self) -> ImageServiceClient<Channel> {
        ImageServiceClient::new(self.channel.clone())
    }

    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.threads.block_on(future)
    }

    /// An answer that must be good.
    pub(crate) fn ok<T>(&self, call: impl Future<Output = Result<Response<T>, Status>>) -> T {
        self.wait(call).unwrap_or_else(|status| panic!("{status:?}")).into_inner()
    }

    /// An answer that must be a refusal with this code.
    pub(crate) fn refused<T: std::fmt::Debug>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
        code: Code,
    ) -> String {
        let status = self.wait(call).expect_err("refused");
        assert_eq!(status.code(), code, "{status:?}");
        status.message().to_owned()
    }

    pub(crate) fn pod_config(&self, name: &str) -> PodSandboxConfig {
        PodSandboxConfig {
            metadata: Some(PodSandboxMetadata {
                name: name.into(),
                uid: format!("{name}-uid"),
                namespace: "default".into(),
                attempt: 0,
            }),
            log_directory: self.path("logs").display().to_string(),
            labels: [("app".to_owned(), name.to_owned())].into(),
            annotations: [("note".to_owned(), "kept".to_owned())].into(),
            ..PodSandboxConfig::default()
        }
    }

    pub(crate) fn run_pod(&self, config: PodSandboxConfig) -> String {
        let request = RunPodSandboxRequest { config: Some(config), runtime_handler: "hostprocess".into() };
        self.ok(self.runtime().run_pod_sandbox(request)).pod_sandbox_id
    }

    pub(crate) fn pod(&self, name: &str) -> String {
        self.run_pod(self.pod_config(name))
    }

    /// A container that runs the fixture with these arguments.
    pub(crate) fn config(&self, name: &str, args: &[&str]) -> ContainerConfig {
        ContainerConfig {
            metadata: Some(ContainerMetadata { name: name.into(), attempt: 0 }),
            image: Some(ImageSpec { image: IMAGE.into(), ..ImageSpec::default() }),
            args: args.iter().map(|word| (*word).to_owned()).collect(),
            labels: [("role".to_owned(), name.to_owned())].into(),
            log_path: format!("{name}.log"),
            ..ContainerConfig::default()
        }
    }

    pub(crate) fn create(&self, pod: &str, config: ContainerConfig) -> String {
        self.ok(self.runtime().create_container(creation(pod, config))).container_id
    }

    pub(crate) fn start(&self, pod: &str, config: ContainerConfig) -> String {
        let id = self.create(pod, config);
        self.ok(self.runtime().start_container(StartContainerRequest { container_id: id.clone() }));
        id
    }

    pub(crate) fn status(&self, id: &str) -> ContainerStatus {
        let request = ContainerStatusRequest { container_id: id.into(), verbose: false };
        self.ok(self.runtime().container_status(request)).status.unwrap()
    }

    pub(crate) fn pod_status(&self, id: &str) -> PodSandboxStatus {
        let request = PodSandboxStatusRequest { pod_sandbox_id: id.into(), verbose: false };
        self.ok(self.runtime().pod_sandbox_status(request)).status.unwrap()
    }

    pub(crate) fn exited(&self, id: &str) -> ContainerStatus {
        let over = ContainerState::ContainerExited as i32;
        eventually("the container ends", || Some(self.status(id)).filter(|status| status.state == over))
    }

    /// What a log file says, time stamps and all.
    pub(crate) fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("logs").join(name)).unwrap_or_default()
    }

    pub(crate) fn says(&self, log: &str, words: &str) {
        eventually(&format!("{log} says {words:?}"), || self.log(log).contains(words).then_some(()));
    }

    /// Every name and size below the root, but for logs of holders: what a refused call must leave as it was.
    pub(crate) fn traces(&self) -> Vec<(PathBuf, u64)> {
        let mut all = Vec::new();
        list(&self.path("root"), &mut all);
        all.sort();
        all
    }

    /// Removes every pod; then nothing of them is left.
    pub(crate) fn end(&self) {
        for pod in self.ok(self.runtime().list_pod_sandbox(ListPodSandboxRequest::default())).items {
            self.ok(self.runtime().remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: pod.id }));
        }
        let mut left = Vec::new();
        ["root/pods", "root/run", "root/hpc"].iter().for_each(|dir| list(&self.path(dir), &mut left));
        assert!(left.is_empty(), "{left:?}");
        let pins = self.runtime.as_ref().unwrap().node().images.content().pins().unwrap();
        assert!(pins.is_empty(), "{pins:?}");
    }
}

pub(crate) fn creation(pod: &str, config: ContainerConfig) -> CreateContainerRequest {
    CreateContainerRequest { pod_sandbox_id: pod.into(), config: Some(config), sandbox_config: None }
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

/// A test that fails must not leave its containers behind; one that ends, ends its server.
impl Drop for World {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(served) = self.served.take() {
            self.channel =
                self.threads.block_on(async { Endpoint::from_static("http://localhost").connect_lazy() });
            drop(self.threads.block_on(served));
        }
        for pod in self.runtime.iter().flat_map(|runtime| runtime.pods(&PodFilter::default())) {
            drop(self.runtime.as_ref().map(|runtime| runtime.remove_pod(&pod.id)));
        }
    }
}
