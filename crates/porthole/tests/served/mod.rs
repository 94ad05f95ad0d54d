//! `porthole cri` as a program, with an image in its root, and clients.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cri::api::runtime_service_client::RuntimeServiceClient;
use cri::api::*;
use hyper_util::rt::TokioIo;
use images::{Reference, Store};
use runtime::layout::Layout;
use testbed::image::{ImageBuilder, Layer};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

pub(crate) const IMAGE: &str = "example.com/fixture:1";

pub(crate) struct Agent(pub(crate) Child);

pub(crate) struct World {
    dir: tempfile::TempDir,
    pub(crate) threads: tokio::runtime::Runtime,
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

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let world = World { dir, threads };
        let fixture =
            std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE: run this by `cargo xtask test`");
        let layer = Layer::new().host_file("fixture", PathBuf::from(fixture), 0o755).unwrap();
        let facts = os::host::facts().unwrap();
        let image = ImageBuilder::new(&facts.os, &facts.architecture).layer(layer).entrypoint(["./fixture"]);
        let archive = world.path("image.tar");
        image.build().unwrap().write_oci_archive(&archive).unwrap();
        std::fs::create_dir_all(world.root()).unwrap();
        let store = Store::open(&Layout::new(&world.root()).images()).unwrap();
        store.load(&archive, &Reference::parse(IMAGE).unwrap(), &facts.os, &facts.architecture).unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.arg("cri").arg("--root").arg(self.root()).args(arguments).stdout(Stdio::piped());
        command
    }

    /// An agent that has said where it listens, which is what is given too.
    pub(crate) fn agent(&self, arguments: &[&str]) -> (Agent, String) {
        self.agent_saying(arguments, Stdio::inherit())
    }

    /// One whose remarks go there.
    pub(crate) fn agent_saying(&self, arguments: &[&str], remarks: Stdio) -> (Agent, String) {
        let mut child = self.command(arguments).stderr(remarks).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let listens = line.trim().strip_prefix("porthole cri: listening on ").expect(&line).to_owned();
        (Agent(child), listens)
    }

    pub(crate) fn client(&self, uri: &str) -> RuntimeServiceClient<Channel> {
        RuntimeServiceClient::new(self.channel(uri))
    }

    pub(crate) fn channel(&self, uri: &str) -> Channel {
        let path = PathBuf::from(uri.strip_prefix("unix://").expect("a socket"));
        let dial = tower::service_fn(move |_| {
            let path = path.clone();
            async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
        });
        let endpoint = Endpoint::from_static("http://localhost");
        self.threads.block_on(endpoint.connect_with_connector(dial)).expect("the server answers")
    }

    pub(crate) fn container(&self, client: &mut RuntimeServiceClient<Channel>) -> (String, String) {
        let metadata = PodSandboxMetadata {
            name: "web".into(),
            uid: "uid".into(),
            namespace: "default".into(),
            attempt: 0,
        };
        let config = PodSandboxConfig { metadata: Some(metadata), ..PodSandboxConfig::default() };
        let request = RunPodSandboxRequest { config: Some(config), runtime_handler: String::new() };
        self.threads.block_on(async {
            let pod = client.run_pod_sandbox(request).await.unwrap().into_inner().pod_sandbox_id;
            let config = ContainerConfig {
                metadata: Some(ContainerMetadata { name: "main".into(), attempt: 0 }),
                image: Some(ImageSpec { image: IMAGE.into(), ..ImageSpec::default() }),
                args: vec!["pause".into()],
                annotations: [("hash".to_owned(), "abc".to_owned())].into(),
                ..ContainerConfig::default()
            };
            let request = CreateContainerRequest {
                pod_sandbox_id: pod.clone(),
                config: Some(config),
                sandbox_config: None,
            };
            let id = client.create_container(request).await.unwrap().into_inner().container_id;
            client.start_container(StartContainerRequest { container_id: id.clone() }).await.unwrap();
            (pod, id)
        })
    }

    pub(crate) fn status(
        &self,
        client: &mut RuntimeServiceClient<Channel>,
        id: &str,
    ) -> (ContainerStatus, u64) {
        let request = ContainerStatusRequest { container_id: id.to_owned(), verbose: true };
        let answer = self.threads.block_on(client.container_status(request)).unwrap().into_inner();
        let info: serde_json::Value = serde_json::from_str(&answer.info["info"]).unwrap();
        (answer.status.unwrap(), info["pid"].as_u64().unwrap())
    }

    pub(crate) fn remove(&self, client: &mut RuntimeServiceClient<Channel>, pod: &str) {
        let request = RemovePodSandboxRequest { pod_sandbox_id: pod.to_owned() };
        self.threads.block_on(client.remove_pod_sandbox(request)).unwrap();
        let left: Vec<_> = std::fs::read_dir(self.root().join("pods")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

// === impl Agent ===

impl Agent {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    pub(crate) fn code(mut self) -> Option<i32> {
        eventually("the agent ends", || self.0.try_wait().unwrap()).code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
