//! `porthole cri` as a program: where it listens, how it ends, and that containers do not notice.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
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

const IMAGE: &str = "example.com/fixture:1";

struct Agent(Child);

struct World {
    dir: tempfile::TempDir,
    threads: tokio::runtime::Runtime,
}

fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
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
    fn new() -> World {
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

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.path("root")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.arg("cri").arg("--root").arg(self.root()).args(arguments).stdout(Stdio::piped());
        command
    }

    /// An agent that has said where it listens, which is what is given too.
    fn agent(&self, arguments: &[&str]) -> (Agent, String) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let listens = line.trim().strip_prefix("porthole cri: listening on ").expect(&line).to_owned();
        (Agent(child), listens)
    }

    fn client(&self, uri: &str) -> RuntimeServiceClient<Channel> {
        let path = PathBuf::from(uri.strip_prefix("unix://").expect("a socket"));
        let dial = tower::service_fn(move |_| {
            let path = path.clone();
            async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
        });
        let endpoint = Endpoint::from_static("http://localhost");
        let connected = endpoint.connect_with_connector(dial);
        RuntimeServiceClient::new(self.threads.block_on(connected).expect("the server answers"))
    }

    fn container(&self, client: &mut RuntimeServiceClient<Channel>) -> (String, String) {
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

    fn status(&self, client: &mut RuntimeServiceClient<Channel>, id: &str) -> (ContainerStatus, u64) {
        let request = ContainerStatusRequest { container_id: id.to_owned(), verbose: true };
        let answer = self.threads.block_on(client.container_status(request)).unwrap().into_inner();
        let info: serde_json::Value = serde_json::from_str(&answer.info["info"]).unwrap();
        (answer.status.unwrap(), info["pid"].as_u64().unwrap())
    }

    fn remove(&self, client: &mut RuntimeServiceClient<Channel>, pod: &str) {
        let request = RemovePodSandboxRequest { pod_sandbox_id: pod.to_owned() };
        self.threads.block_on(client.remove_pod_sandbox(request)).unwrap();
        let left: Vec<_> = std::fs::read_dir(self.root().join("pods")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

// === impl Agent ===

impl Agent {
    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    fn code(mut self) -> Option<i32> {
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

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

// proves: RT-01 twin
#[test]
fn an_agent_that_is_killed_leaves_its_containers_and_the_next_one_has_them() {
    let world = World::new();
    let (agent, uri) = world.agent(&[]);
    assert_eq!(uri, format!("unix://{}/run/cri.sock", world.root().display()));
    assert_eq!(mode(&world.root().join("run/cri.sock")), 0o600);
    let mut client = world.client(&uri);
    let (pod, id) = world.container(&mut client);
    let (before, pid) = world.status(&mut client, &id);
    agent.signal("KILL");
    assert_eq!(agent.code(), None);
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "the container runs on");
    let (agent, again) = world.agent(&[]);
    assert_eq!(again, uri, "what the dead one left is replaced");
    let mut client = world.client(&uri);
    let (after, same) = world.status(&mut client, &id);
    assert!(before.started_at > 0, "{before:?}");
    assert_eq!((&after, same), (&before, pid), "also when it was started");
    let exec = ExecSyncRequest {
        container_id: id,
        cmd: ["./fixture", "print", "hello"].map(String::from).to_vec(),
        timeout: 60,
    };
    let said = world.threads.block_on(client.exec_sync(exec)).unwrap().into_inner();
    assert_eq!(said.stdout, b"hello\n");
    world.remove(&mut client, &pod);
    agent.signal("TERM");
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn the_verbs_of_the_command_line_work_beside_a_kubelets() {
    let world = World::new();
    let (_agent, uri) = world.agent(&[]);
    let mut client = world.client(&uri);
    let (pod, id) = world.container(&mut client);
    let verb = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.arg(words[0]).arg("--root").arg(world.root()).args(&words[1..]);
        command.output().unwrap()
    };
    let said = verb(&["exec", "web", "--", "./fixture", "print", "hello"]);
    assert_eq!(said.stdout, b"hello\n", "{}", String::from_utf8_lossy(&said.stderr));
    let stopped = verb(&["stop", "web"]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let (seen, _) = world.status(&mut client, &id);
    assert_eq!(seen.state(), ContainerState::ContainerExited);
    world.remove(&mut client, &pod);
}

// proves: RT-01 twin
#[test]
fn an_agent_that_is_asked_to_stop_ends_well_and_its_containers_run_on() {
    let world = World::new();
    let socket = world.path("cri.sock");
    let uri = format!("unix://{}", socket.display());
    let (agent, _) = world.agent(&["--listen", &uri]);
    let mut client = world.client(&uri);
    let (pod, id) = world.container(&mut client);
    let (_, pid) = world.status(&mut client, &id);
    // Somebody who only watches keeps nobody waiting.
    let watching = world.threads.block_on(client.get_container_events(GetEventsRequest {})).unwrap();
    agent.signal("INT");
    assert_eq!(agent.code(), Some(0));
    drop(watching);
    assert!(!socket.exists() && Path::new(&format!("/proc/{pid}")).exists());
    let (agent, _) = world.agent(&["--listen", &uri]);
    world.remove(&mut world.client(&uri), &pod);
    agent.signal("TERM");
    assert_eq!(agent.code(), Some(0));
}

#[test]
fn wrong_words_are_wrong_use_and_a_place_that_is_taken_is_the_environments_fault() {
    let world = World::new();
    let run = |arguments: &[&str]| {
        let output = world.command(arguments).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for listen in ["/run/x.sock", "http://127.0.0.1:1", "tcp://0.0.0.0:1", "npipe:////./pipe/x"] {
        let (code, said) = run(&["--listen", listen]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("wanted") || said.contains("pipes are for Windows"), "{said}");
    }
    std::fs::write(world.path("cri.yaml"), "colour: red\n").unwrap();
    let config = world.path("cri.yaml");
    let (code, said) = run(&["--config", config.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("colour"), "{said}");
    let (_agent, uri) = world.agent(&["--listen", "tcp://127.0.0.1:0"]);
    assert!(uri.starts_with("tcp://127.0.0.1:") && !uri.ends_with(":0"), "{uri}");
    let (code, said) = run(&[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("in use by another porthole"), "{said}");
}

#[test]
fn a_socket_where_somebody_answers_is_not_taken_away() {
    let (first, second) = (World::new(), World::new());
    let uri = format!("unix://{}", first.path("cri.sock").display());
    let (_agent, _) = first.agent(&["--listen", &uri]);
    let output = second.command(&["--listen", &uri]).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let mut client = first.client(&uri);
    first.threads.block_on(client.version(VersionRequest::default())).expect("the first one still answers");
}
