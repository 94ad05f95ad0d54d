use std::path::Path;
use std::thread::JoinHandle;

use holder::protocol::{Answer, Request, VERSION, receive, send};
use os::channel::Listener;
use serde_json::{Map, json};

use super::*;
use crate::config::{Mode, PodConfig};
use crate::ids::ContainerId;
use crate::record::{Kept, Origin, PodState, Waiting};

/// A root with one pod of one container, and no holder anywhere.
struct World {
    dir: tempfile::TempDir,
    /// The container's.
    name: String,
}

fn id() -> PodId {
    PodId::from(uuid::Uuid::nil())
}

impl World {
    /// The pod is a file's, which names its container.
    fn new() -> World {
        let origin = Origin {
            file: "/f.yaml".into(),
            spec_digest: String::new(),
            grace_seconds: 30,
            containers: vec![ContainerName { name: "main".into(), kind: Kind::Regular }],
        };
        World::with("main", Some(origin))
    }

    /// The pod is a kubelet's: nothing names its container before it is made.
    fn without_file(container: &str) -> World {
        World::with(container, None)
    }

    fn with(container: &str, origin: Option<Origin>) -> World {
        let world = World { dir: tempfile::tempdir().unwrap(), name: container.to_owned() };
        let dir = world.pod();
        std::fs::create_dir_all(dir.containers()).unwrap();
        let config = PodConfig { origin, ..PodConfig::host_process(id(), "web") };
        let record =
            PodRecord { v: 1, state: PodState::Ready, created: "t".into(), config, unknown: Map::new() };
        record::write(&dir.record(), &record).unwrap();
        world
    }

    fn layout(&self) -> Layout {
        Layout::new(self.dir.path())
    }

    fn pod(&self) -> PodDir {
        self.layout().pod(&id())
    }

    fn container(&self, attempt: u32) -> ContainerDir {
        self.pod().container(&self.name, attempt)
    }

    fn records(&self, attempt: u32, state: Recorded, waiting: Option<Waiting>) -> &World {
        let dir = self.container(attempt);
        std::fs::create_dir_all(dir.path()).unwrap();
        let record = ContainerRecord {
            v: 1,
            id: ContainerId::of(&id(), &self.name, attempt),
            state,
            created: "t".into(),
            boot_id: "boot-1".into(),
            config: Kept { name: self.name.clone(), attempt, ..Kept::default() },
            log: dir.log(),
            mode: Mode::Bind,
            room: None,
            identity: None,
            warnings: Vec::new(),
            termination_message: None,
            waiting,
            unknown: Map::new(),
        };
        record::write(&dir.record(), &record).unwrap();
        self
    }

    fn ended(&self, attempt: u32, code: u32) -> &World {
        let exit =
            json!({"v": 1, "id": "main-0", "code": code, "reason": "Error", "started": "s", "finished": "f"});
        std::fs::write(self.container(attempt).exit(), exit.to_string()).unwrap();
        self
    }

    /// A holder that says to everyone who asks what it has then, and goes.
    fn holder(&self, says: Vec<Vec<Held>>) -> JoinHandle<()> {
        std::fs::create_dir(self.layout().run()).unwrap();
        let listener = Listener::bind(&self.layout().holder_endpoint(&id())).unwrap();
        std::thread::spawn(move || {
            for has in says {
                let mut asks = listener.accept().unwrap();
                for answer in [Answer::Hello { version: VERSION, pid: 1 }, Answer::Containers(has)] {
                    receive::<Request>(&mut asks).unwrap();
                    send(&mut asks, &answer).unwrap();
                }
            }
        })
    }

    fn held(&self, attempt: u32) -> Held {
        Held {
            id: ContainerId::of(&id(), &self.name, attempt).to_string(),
            pid: 7,
            started: "s".into(),
            stopping: false,
            exit: None,
        }
    }

    fn seen(&self, boot_id: &str) -> ContainerView {
        pods(&self.layout(), boot_id).unwrap().remove(0).containers.remove(0)
    }
}

#[test]
fn nothing_is_there_before_the_first_pod() {
    assert_eq!(pods(&Layout::new(Path::new("/nowhere/at/all")), "b").unwrap(), []);
}

#[test]
fn a_container_that_was_never_made_or_started_waits() {
    let world = World::new();
    assert_eq!(world.seen("boot-1").state, State::Waiting);
    let seen = world.records(0, Recorded::Created, None).seen("boot-1");
    assert_eq!((seen.state, seen.restarts, seen.reason), (State::Waiting, 0, None));
}

#[test]
fn the_last_attempts_exit_record_is_believed() {
    let world = World::new();
    world.records(1, Recorded::Exited, None).ended(1, 3);
    let seen = world.records(2, Recorded::Running, None).ended(2, 7).seen("boot-1");
    assert_eq!((seen.state, seen.exit_code, seen.restarts), (State::Exited, Some(7), 2));
    assert_eq!((seen.started.as_deref(), seen.finished.as_deref()), (Some("s"), Some("f")));
    assert_eq!(seen.previous_log, Some(world.container(1).log()));
    std::fs::create_dir(world.container(3).path()).unwrap();
    assert_eq!(world.seen("boot-1").restarts, 2, "one that is only being made is none yet");
}

#[test]
fn a_start_without_holder_or_exit_says_why() {
    let world = World::new();
    world.records(0, Recorded::Running, None);
    assert_eq!(world.seen("boot-1").state, State::Waiting, "without a log it never was");
    std::fs::write(world.container(0).log(), "").unwrap();
    let seen = world.seen("boot-1");
    assert_eq!((seen.state, seen.reason.as_deref()), (State::Exited, Some("HolderDied")));
    assert!(seen.message.unwrap().contains("holder ended first"));
    assert_eq!(world.seen("boot-2").message.unwrap(), "the machine was restarted");
}

/// The holder was asked before it was told to start, and the log was looked for after.
#[test]
fn a_container_that_is_started_while_one_looks_has_not_ended() {
    let world = World::new();
    world.records(0, Recorded::Running, None);
    std::fs::write(world.container(0).log(), "").unwrap();
    let holder = world.holder(vec![vec![], vec![world.held(0)]]);
    let seen = world.seen("boot-1");
    assert_eq!((seen.state, seen.pid, seen.reason), (State::Running, Some(7), None));
    holder.join().unwrap();
}

#[test]
fn a_container_that_backs_off_says_so() {
    let world = World::new();
    let wait = Waiting { reason: "CrashLoopBackOff".into(), message: "starts again in 10 s".into() };
    let seen = world.records(1, Recorded::Exited, Some(wait)).ended(1, 3).seen("boot-1");
    assert_eq!((seen.state, seen.exit_code), (State::Exited, Some(3)));
    assert_eq!(
        (seen.reason.as_deref(), seen.message.as_deref()),
        (Some("CrashLoopBackOff"), Some("starts again in 10 s"))
    );
}

#[test]
fn a_pod_on_its_way_out_or_without_record_is_not_shown() {
    let world = World::new();
    std::fs::create_dir(world.layout().pods().join("unfinished")).unwrap();
    assert_eq!(pods(&world.layout(), "b").unwrap().len(), 1);
    std::fs::rename(world.pod().path(), world.pod().gone()).unwrap();
    assert_eq!(pods(&world.layout(), "b").unwrap(), []);
}

#[test]
fn damage_is_shown_where_it_is_and_hides_nothing_else() {
    let world = World::new();
    world.records(0, Recorded::Running, None);
    std::fs::write(world.container(0).record(), "{").unwrap();
    let seen = world.seen("boot-1");
    assert_eq!(seen.state, State::Unknown);
    assert!(seen.message.unwrap().contains("container.json"));
    world.records(0, Recorded::Running, None);
    std::fs::write(world.container(0).exit(), "{").unwrap();
    assert!(world.seen("boot-1").message.unwrap().contains("exit.json"));
    std::fs::write(world.pod().record(), "{").unwrap();
    let pods = pods(&world.layout(), "boot-1").unwrap();
    assert!(pods[0].problem.as_ref().unwrap().contains("pod.json"), "{pods:?}");
}

/// Directories of such names are called by their digests, which `ps` took for the names.
#[test]
fn a_container_without_file_is_seen_by_its_own_name_with_its_state_and_logs() {
    for name in ["main", "a-1", "Web", "a_b", "a.b", &"n".repeat(70)] {
        let world = World::without_file(name);
        world.records(1, Recorded::Exited, None).ended(1, 3).records(2, Recorded::Running, None);
        std::fs::write(world.container(2).log(), "").unwrap();
        let holder = world.holder(vec![vec![world.held(2)]]);
        let seen = world.seen("boot-1");
        assert_eq!((seen.name.as_str(), seen.id), (name, ContainerId::of(&id(), name, 2)));
        assert_eq!((seen.state, seen.pid, seen.restarts), (State::Running, Some(7), 2), "{name}");
        assert_eq!(seen.log, Some(world.container(2).log()), "{name}");
        assert_eq!(seen.previous_log, Some(world.container(1).log()), "{name}");
        holder.join().unwrap();
    }
}

#[test]
fn a_container_without_file_is_none_before_it_is_recorded_and_one_still_when_that_is_damaged() {
    for name in ["main", "Web"] {
        let world = World::without_file(name);
        std::fs::create_dir(world.container(0).path()).unwrap();
        assert_eq!(pods(&world.layout(), "boot-1").unwrap()[0].containers, [], "{name}");
        std::fs::write(world.container(0).record(), "{").unwrap();
        let seen = world.seen("boot-1");
        assert_eq!(seen.state, State::Unknown, "{name}");
        assert!(seen.message.unwrap().contains("container.json"), "{name}");
    }
}
