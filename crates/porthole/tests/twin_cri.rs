//! `porthole cri` as a program: where it listens, how it ends, and that containers do not notice.

mod served;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use cri::api::*;

use served::World;

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
