//! A root directory with what containers need beside it, and everything on the host that belongs to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use images::document::Runs;
use images::{Files, Image};
use runtime::config::{ContainerConfig, Mode, MountConfig, PodConfig};
use runtime::layout::Layout;
use runtime::pods::PodFilter;
use runtime::{ContainerId, Node, NodeError, PodId, Runtime};

use crate::eventually;

#[derive(Debug, Clone)]
pub(crate) struct Place {
    dir: PathBuf,
}

/// A process whose program lies below the place.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) line: String,
}

const GUARD: &str = "hold-guard";

fn program(name: &str) -> PathBuf {
    let path = std::env::var_os(name);
    path.unwrap_or_else(|| panic!("{name} is not set: run this by `cargo xtask test`")).into()
}

// === impl Place ===

impl Place {
    pub(crate) fn at(dir: &Path) -> Place {
        Place { dir: dir.to_owned() }
    }

    /// Puts an image and volumes there.
    pub(crate) fn furnish(dir: &Path) -> Place {
        let place = Place::at(dir);
        // Other accounts get to their images.
        fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["app", "outer", "inner"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        fs::copy(program("PORTHOLE_FIXTURE"), place.path("app/fixture")).unwrap();
        place.bring_holder();
        place
    }

    /// Every agent hashes it: without what only debuggers read that takes a tenth of the time.
    fn bring_holder(&self) {
        let (from, to) = (program("PORTHOLE_HOLD"), self.path("hold"));
        let stripped = std::process::Command::new("strip").arg("-o").args([&to, &from]).status();
        if !stripped.is_ok_and(|status| status.success()) {
            fs::copy(from, to).unwrap();
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(&self.path("root"))
    }

    pub(crate) fn try_open(&self) -> Result<Runtime, NodeError> {
        let holder = fs::read(self.path("hold")).expect("the holder's program");
        Node::open(&self.path("root"), &holder).map(Runtime::open)
    }

    /// The next agent. Another one's lock goes with its process, which may take a moment; any other trouble is a failure.
    pub(crate) fn open(&self) -> Runtime {
        eventually("the node is free", || match self.try_open() {
            Err(NodeError::InUse { .. }) => None,
            other => Some(other.unwrap_or_else(|e| panic!("the next agent: {e:?}"))),
        })
    }

    pub(crate) fn pod(&self, name: &str, mode: Mode) -> PodConfig {
        let id = PodId::parse(name).expect("a name of ours");
        PodConfig { mode: Some(mode), ..PodConfig::host_process(id, name) }
    }

    /// A container that runs the fixture with these arguments.
    pub(crate) fn container(&self, name: &str, arguments: &[&str]) -> ContainerConfig {
        let image = Image { id: None, files: Files::Dir(self.path("app")), runs: Runs::default() };
        let command = ["./fixture"].iter().chain(arguments).map(|word| (*word).to_owned()).collect();
        ContainerConfig { command, ..ContainerConfig::new(name, image) }
    }

    pub(crate) fn mount(&self, source: &str, target: &Path) -> MountConfig {
        MountConfig {
            host_path: self.path(source).display().to_string(),
            container_path: target.display().to_string(),
            readonly: false,
            ..MountConfig::default()
        }
    }

    /// What runs, and has not merely to be buried.
    pub(crate) fn processes(&self) -> Vec<Seen> {
        let pids =
            fs::read_dir("/proc").expect("/proc").filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: u32| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            program.starts_with(&self.dir).then_some(())?;
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned();
            // One that is ending has a program for a while, and no arguments any more.
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|line| !line.is_empty())?;
            Some(Seen { pid, name, line: String::from_utf8_lossy(&line).replace('\0', " ") })
        })
        .collect()
    }

    pub(crate) fn holders(&self) -> Vec<Seen> {
        self.processes().into_iter().filter(Seen::is_holder).collect()
    }

    /// Ends every process of the place, from outside.
    pub(crate) fn kill_all(&self) {
        eventually("everything is killed", || {
            self.thaw();
            let left = self.processes();
            left.iter().for_each(|seen| kill(seen.pid));
            left.is_empty().then_some(())
        });
    }

    /// Whoever was killed while it froze a group left those inside unable to die.
    fn thaw(&self) {
        for group in self.groups() {
            for job in fs::read_dir(group).into_iter().flatten().flatten() {
                drop(fs::write(job.path().join("freezer.state"), "THAWED"));
            }
        }
    }

    /// The control groups of this root, in whichever version.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        let any = ContainerId::of(&PodId::parse("x").expect("a name"), "x", 0);
        let parent = self.layout().job(&any).parent;
        testbed::cgroup::groups(&parent).expect("cgroups")
    }

    pub(crate) fn users(&self) -> Vec<String> {
        let layout = self.layout();
        let users = os::user::temporary().expect("temporary users");
        users.into_iter().filter(|name| layout.is_temporary_user(name)).collect()
    }

    /// Everything on the host that a place without pods must not have. One line each.
    fn traces(&self) -> Vec<String> {
        let mut left: Vec<String> = self.processes().iter().map(|seen| format!("process {seen:?}")).collect();
        left.extend(self.groups().iter().map(|path| format!("cgroup {}", path.display())));
        left.extend(self.users().iter().map(|name| format!("user {name}")));
        for dir in ["root/pods", "root/run", "root/hpc", "outer", "inner"] {
            let below = fs::read_dir(self.path(dir)).into_iter().flatten().flatten();
            left.extend(below.map(|entry| format!("left {}", entry.path().display())));
        }
        let programs = fs::read_dir(self.path("root/bin")).into_iter().flatten().flatten().map(|e| e.path());
        let torn = programs.filter(|path| path.extension().is_some_and(|it| it == "tmp"));
        left.extend(torn.map(|path| format!("part of a program {}", path.display())));
        left.extend(self.path("made").exists().then(|| "a mount point on the host".to_owned()));
        left.extend(mounts_below(&self.dir).into_iter().map(|point| format!("mount {point}")));
        left
    }

    /// Holders' guards need a moment to end; whatever stays is a failure.
    pub(crate) fn assert_bare(&self, when: &str) {
        let deadline = std::time::Instant::now() + crate::PATIENCE;
        loop {
            let left = self.traces();
            if left.is_empty() {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{when}: {left:#?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Removes every pod; then the host is as it was before.
    pub(crate) fn clear(&self, runtime: Runtime, when: &str) {
        for pod in runtime.pods(&PodFilter::default()) {
            runtime.remove_pod(&pod.id).unwrap_or_else(|e| panic!("{when}: remove {}: {e:?}", pod.id));
        }
        drop(runtime);
        self.assert_bare(when);
    }

    /// Somebody who comes later, with a pod of this name, can use the place.
    pub(crate) fn assert_usable(&self, runtime: &Runtime, name: &str, when: &str) {
        let ran = || {
            let pod = runtime.run_pod(self.pod(name, Mode::Bind))?;
            let id = runtime.create(&pod, self.container("main", &["exit", "7"]))?;
            runtime.start(&id)?;
            runtime.wait(&id)
        };
        let exit = ran().unwrap_or_else(|e| panic!("{when}: a new pod: {e:?}"));
        assert_eq!(exit.code, 7, "{when}: {exit:?}");
    }
}

fn mounts_below(dir: &Path) -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let points = table.lines().filter_map(|line| line.split(' ').nth(4));
    let below = points.filter(|point| Path::new(point).starts_with(dir) && Path::new(point) != dir);
    below.map(str::to_owned).collect()
}

/// As the kernel would, when memory is short. One that is gone already is as good.
pub(crate) fn kill(pid: u32) {
    let quiet = || std::process::Stdio::null();
    let mut command = std::process::Command::new("kill");
    drop(command.args(["-9", &pid.to_string()]).stdout(quiet()).stderr(quiet()).status());
}

// === impl Seen ===

impl Seen {
    fn is_holder(&self) -> bool {
        self.name.starts_with("hold-") && self.name != GUARD
    }
}
