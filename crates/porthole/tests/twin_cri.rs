//! `porthole cri` as a program: where it listens, how it ends, and that containers do not notice.

mod served;

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use cri::api::image_service_client::ImageServiceClient;
use cri::api::*;
use images::{Content, Digest};
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Fault, Options, Registry, Wrong};

use served::{World, eventually};

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
    let said = std::fs::File::create(world.path("said")).unwrap();
    let (agent, _) = world.agent_saying(&["--listen", &uri], said.into());
    let mut client = world.client(&uri);
    let (pod, id) = world.container(&mut client);
    let (_, pid) = world.status(&mut client, &id);
    // Somebody who only watches keeps nobody waiting.
    let watching = world.threads.block_on(client.get_container_events(GetEventsRequest {})).unwrap();
    agent.signal("INT");
    assert_eq!(agent.code(), Some(0));
    drop(watching);
    let said = std::fs::read_to_string(world.path("said")).unwrap();
    assert!(!said.contains("did not end in time"), "{said}");
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

/// Much that is no smaller than half of it when it is packed.
fn noise(seed: &str) -> String {
    (0..20_000).map(|number| Digest::of(format!("{seed} {number}").as_bytes()).to_string()).collect()
}

/// A pull whose last layer breaks off and is not to be had again; its download.
fn break_off(world: &World, uri: &str, registry: &Registry, name: &str) -> PathBuf {
    let facts = os::host::facts().unwrap();
    let layers = [Layer::new().file("word", name, 0o644), Layer::new().file("data", noise(name), 0o644)];
    let image =
        layers.into_iter().fold(ImageBuilder::new(&facts.os, &facts.architecture), ImageBuilder::layer);
    let image = image.build().unwrap();
    registry.push(&image, &format!("try/{name}:1")).unwrap();
    let (digest, _) = image.blobs().iter().max_by_key(|(_, bytes)| bytes.len()).unwrap();
    let path = format!("/v2/*/blobs/{digest}");
    let gone = Wrong::Status { code: 404, headers: Vec::new() };
    registry.fault(Fault::new(Wrong::Cut { after: 300_000 }).method("GET").path(&path).times(1));
    registry.fault(Fault::new(gone).method("GET").path(&path));
    let image =
        Some(ImageSpec { image: format!("{}/try/{name}:1", registry.address()), ..ImageSpec::default() });
    let pull = PullImageRequest { image, ..PullImageRequest::default() };
    let mut client = ImageServiceClient::new(world.channel(uri));
    world.threads.block_on(client.pull_image(pull)).expect_err("it breaks off");
    let download = world.root().join("images/ingest").join(&digest["sha256:".len()..]);
    assert!(download.metadata().unwrap().len() > 0);
    download
}

/// What a kubelet is told that images take: bytes and inodes.
fn taken(world: &World, uri: &str) -> (u64, u64) {
    let mut client = ImageServiceClient::new(world.channel(uri));
    let info = world.threads.block_on(client.image_fs_info(ImageFsInfoRequest {})).unwrap().into_inner();
    let images = &info.image_filesystems[0];
    (images.used_bytes.unwrap().value, images.inodes_used.unwrap().value)
}

/// As if all that is in the store had come two hours ago.
fn age(world: &World) {
    let files = |dir: &str| {
        let entries = std::fs::read_dir(world.root().join("images").join(dir)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    };
    let notes = files("layers").map(|place| place.join("layer.json"));
    for path in files("ingest").chain(files("blobs/sha256")).chain(notes) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 3600)).unwrap();
    }
}

/// Who types no verb had what is left of such a pull for ever: no kubelet can name it.
// proves: RT-01 twin
#[test]
fn an_agent_lets_go_of_what_pulls_left_that_were_given_up_long_ago() {
    let (world, registry) = (World::new(), Registry::start(Options::default()).unwrap());
    let (first, uri) = world.agent(&[]);
    let (pod, id) = world.container(&mut world.client(&uri));
    let before = taken(&world, &uri);
    let old = break_off(&world, &uri, &registry, "old");
    let with_old = taken(&world, &uri);
    age(&world);
    let young = break_off(&world, &uri, &registry, "young");
    let with_both = taken(&world, &uri);
    assert!(before < with_old && with_old < with_both, "{before:?} {with_old:?} {with_both:?}");
    assert!(old.exists(), "it was not an hour");
    first.signal("TERM");
    assert_eq!(first.code(), Some(0), "also while it waits for the next time");
    let is_said =
        |line: &str| line.starts_with("porthole: let go of ") && line.ends_with(" that belonged to no image");
    let next = |number: u32| {
        let said = world.path(&format!("said-{number}"));
        let (agent, uri) = world.agent_saying(&[], File::create(&said).unwrap().into());
        let text = || std::fs::read_to_string(&said).unwrap();
        eventually("it says what it let go of", || text().lines().any(is_said).then_some(()));
        (agent, uri)
    };
    let (second, uri) = next(2);
    assert!(!old.exists() && young.exists(), "a kubelet that asks again goes on with it");
    let of_young = (with_both.0 - with_old.0, with_both.1 - with_old.1);
    assert_eq!(taken(&world, &uri), (before.0 + of_young.0, before.1 + of_young.1));
    second.signal("KILL");
    assert_eq!(second.code(), None);
    age(&world);
    let (_third, uri) = next(3);
    assert_eq!(taken(&world, &uri), before);
    let findings = Content::open(&world.root().join("images")).unwrap().fsck(false).unwrap();
    assert!(findings.found.is_empty() && findings.images == 1, "{findings:?}");
    let mut client = world.client(&uri);
    let (seen, _) = world.status(&mut client, &id);
    assert_eq!(seen.state(), ContainerState::ContainerRunning);
    let cmd = ["./fixture", "print", "hello"].map(String::from).to_vec();
    let exec = ExecSyncRequest { container_id: id, cmd, timeout: 60 };
    assert_eq!(world.threads.block_on(client.exec_sync(exec)).unwrap().into_inner().stdout, b"hello\n");
    world.remove(&mut client, &pod);
}
