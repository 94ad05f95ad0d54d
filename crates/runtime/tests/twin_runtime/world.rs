//! A node of its own, an image with the fixture, and containers that run it.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use images::document::Runs;
use images::{Files, Image};
use runtime::config::{ContainerConfig, Mode, MountConfig, Options, PodConfig};
use runtime::logs::LogReader;
use runtime::pods::PodFilter;
use runtime::{ContainerId, Node, PodId, Runtime, RuntimeError};

pub(crate) struct World {
    dir: tempfile::TempDir,
    runtime: Option<Runtime>,
}

/// Long enough for a slow machine under load.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next who connects, and that it speaks: a container that does not must fail its test, not hang it.
pub(crate) fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let peer = eventually("somebody connects", || match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        other => Some(other.unwrap().0),
    });
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer
}

pub(crate) fn is_alive(pid: u32) -> bool {
    os::process::is_running(pid)
}

fn program(name: &str) -> PathBuf {
    std::env::var_os(name)
        .unwrap_or_else(|| panic!("{name} is not set: run this by `cargo xtask test`"))
        .into()
}

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        World::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> World {
        let dir = tempfile::tempdir().unwrap();
        // Other accounts get to their images.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::create_dir(dir.path().join("app")).unwrap();
        std::fs::copy(program("PORTHOLE_FIXTURE"), dir.path().join("app/fixture")).unwrap();
        let mut world = World { dir, runtime: None };
        world.open(options);
        world
    }

    fn open(&mut self, options: Options) {
        let holder = std::fs::read(program("PORTHOLE_HOLD")).unwrap();
        // A watcher of the runtime before may be about to let go of it.
        let node = eventually("the node is free", || Node::open(&self.root(), &holder).ok());
        self.runtime = Some(Runtime::open_with(node, options));
    }

    /// As if the agent had been killed and started again.
    pub(crate) fn reopen(&mut self) {
        self.close();
        self.open(Options::default());
    }

    pub(crate) fn close(&mut self) {
        self.runtime = None;
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A directory of the host with one file in it.
    pub(crate) fn volume(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("file"), text).unwrap();
        path
    }

    pub(crate) fn pod_config(&self, name: &str) -> PodConfig {
        PodConfig {
            labels: [("app".to_owned(), name.to_owned())].into(),
            ..PodConfig::host_process(PodId::parse(name).unwrap(), name)
        }
    }

    pub(crate) fn pod(&self, name: &str) -> PodId {
        self.runtime().run_pod(self.pod_config(name)).unwrap()
    }

    pub(crate) fn pod_in(&self, name: &str, mode: Mode) -> PodId {
        self.runtime().run_pod(PodConfig { mode: Some(mode), ..self.pod_config(name) }).unwrap()
    }

    pub(crate) fn image(&self) -> Image {
        Image { id: None, files: Files::Dir(self.path("app")), runs: Runs::default() }
    }

    /// A container that runs the fixture with these arguments.
    pub(crate) fn config(&self, name: &str, arguments: &[&str]) -> ContainerConfig {
        let command = ["./fixture"].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        ContainerConfig { command, ..ContainerConfig::new(name, self.image()) }
    }

    pub(crate) fn create(&self, pod: &PodId, config: ContainerConfig) -> Result<ContainerId, RuntimeError> {
        self.runtime().create(pod, config)
    }

    /// Makes and starts a container.
    pub(crate) fn start(&self, pod: &PodId, config: ContainerConfig) -> ContainerId {
        let id = self.create(pod, config).unwrap();
        self.runtime().start(&id).unwrap();
        id
    }

    /// Runs a container to its end; its code and what it said.
    pub(crate) fn run(&self, pod: &PodId, config: ContainerConfig) -> (u32, String) {
        let id = self.start(pod, config);
        let code = self.runtime().wait(&id).unwrap().code;
        (code, self.said(&id))
    }

    /// What a container has written, line by line.
    pub(crate) fn said(&self, id: &ContainerId) -> String {
        let mut text = String::new();
        let mut reader = LogReader::new(&self.runtime().status(id).unwrap().log);
        reader
            .read(|entry| {
                text.push_str(&String::from_utf8_lossy(entry.text));
                text.push('\n');
                Ok(())
            })
            .unwrap();
        text
    }

    pub(crate) fn says(&self, id: &ContainerId, words: &str) {
        eventually(&format!("it says {words:?}"), || self.said(id).contains(words).then_some(()));
    }

    /// Everything below a directory, sorted.
    pub(crate) fn listing(&self, name: &str) -> Vec<PathBuf> {
        let mut all = Vec::new();
        list(&self.path(name), &mut all);
        all.sort();
        all
    }

    /// Removes every pod; then nothing of them is left on the host.
    pub(crate) fn end(&self) {
        for pod in self.runtime().pods(&PodFilter::default()) {
            self.runtime().remove_pod(&pod.id).unwrap();
        }
        for dir in ["root/pods", "root/run", "root/hpc"] {
            assert_eq!(self.listing(dir), [] as [PathBuf; 0], "left in {dir}");
        }
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.dir.path().to_str().unwrap()), "{mounts}");
        let layout = &self.runtime().node().layout;
        let users = os::user::temporary().unwrap();
        assert!(!users.iter().any(|name| layout.is_temporary_user(name)), "{users:?}");
        let any = ContainerId::of(&PodId::parse("x").unwrap(), "x", 0);
        let parent = layout.job(&any).parent;
        assert_eq!(testbed::cgroup::groups(&parent).unwrap(), [] as [PathBuf; 0]);
    }
}

fn list(path: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(path).into_iter().flatten() {
        let entry = entry.unwrap();
        all.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), all);
        }
    }
}

pub(crate) fn mount(source: &Path, target: &Path) -> MountConfig {
    MountConfig {
        host_path: source.to_str().unwrap().into(),
        container_path: target.to_str().unwrap().into(),
        readonly: false,
        ..MountConfig::default()
    }
}

/// A test that fails must not leave its containers behind.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() && self.runtime.is_none() {
            self.open(Options::default());
        }
        for pod in self.runtime.iter().flat_map(|runtime| runtime.pods(&PodFilter::default())) {
            drop(self.runtime().remove_pod(&pod.id));
        }
    }
}
