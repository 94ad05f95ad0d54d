//! Agents that go without a word, and those that come after them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use holder::exit::ExitReason;
use runtime::RuntimeError;
use runtime::config::ContainerConfig;
use runtime::record::State;

use crate::world::{World, accept, eventually, is_alive};

#[test]
fn everything_is_adopted_as_it_was() {
    let mut world = World::new();
    let pod = world.pod("p");
    let running = world.start(&pod, world.config("running", &["lines", "0", "20"]));
    let ended = world.start(&pod, world.config("ended", &["exit", "5"]));
    world.runtime().wait(&ended).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let ends = world.start(&pod, world.config("ends", &["dial", &address]));
    let created = world.create(&pod, world.config("created", &["pause"])).unwrap();
    world.says(&running, "line 3");
    let before = world.runtime().status(&running).unwrap();
    let ended_before = world.runtime().status(&ended).unwrap();
    let record = world.runtime().node().layout.pod(&pod).container("ends", 0).exit();
    world.close();
    // It waits for a word, and ends with no agent there.
    assert!(!record.exists());
    let mut peer = accept(&listener);
    peer.read_exact(&mut [0; b"hello\n".len()]).unwrap();
    peer.write_all(b"go\n").unwrap();
    drop(peer);
    eventually("its holder has written down how", || record.exists().then_some(()));
    world.reopen();
    let runtime = world.runtime();
    let after = runtime.status(&running).unwrap();
    assert_eq!((after.pid, after.state), (before.pid, State::Running));
    assert!(before.started.is_some());
    assert_eq!(after.started, before.started, "who looks does not change when it was started");
    assert_eq!(ended_before.exit.as_ref().unwrap().code, 5);
    assert_eq!(runtime.status(&ended).unwrap(), ended_before);
    assert_eq!(runtime.wait(&ends).unwrap().code, 0);
    let said = world.said(&running).lines().count();
    eventually("it goes on", || (world.said(&running).lines().count() > said + 3).then_some(()));
    // Its variables are gone: it is not started without them …
    let error = runtime.start(&created).unwrap_err().to_string();
    assert!(error.contains("variables are not known any more"), "{error}");
    assert_eq!(runtime.status(&created).unwrap().exit.unwrap().reason, ExitReason::StartError);
    // … and what runs can be looked into, changed and stopped as before.
    let argv = ["./fixture", "print", "inside"].map(str::to_owned);
    assert_eq!(runtime.exec_sync(&running, &argv, None).unwrap().stdout, b"inside\n");
    runtime.stop(&running, Duration::from_secs(10)).unwrap();
    assert!(!is_alive(before.pid.unwrap()));
    world.end();
}

#[test]
fn a_container_that_was_made_is_made_again_and_started_by_the_next_agent() {
    let mut world = World::new();
    let pod = world.pod("p");
    let config =
        ContainerConfig { env: vec![("A".into(), "secret".into())], ..world.config("main", &["env", "A"]) };
    let id = world.create(&pod, config.clone()).unwrap();
    world.reopen();
    assert_eq!(world.pod("p"), pod);
    assert_eq!(world.create(&pod, config).unwrap(), id);
    world.runtime().start(&id).unwrap();
    assert_eq!(world.runtime().wait(&id).unwrap().code, 0);
    assert_eq!(world.said(&id).trim(), "secret");
    // The value was never written down, but for the container's own word.
    for path in
        world.listing("root/pods/p").into_iter().filter(|path| path.is_file() && !path.ends_with("log"))
    {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains("secret"), "{}", path.display());
    }
    world.end();
}

/// Whoever rotates logs moves them away before he has a new one made.
#[test]
fn a_holder_that_is_killed_while_a_log_is_rotated_is_told_as_such() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    world.says(&id, "ready");
    let log = world.runtime().status(&id).unwrap().log;
    std::fs::rename(&log, world.path("rotated.log")).unwrap();
    let endpoint = world.runtime().node().layout.holder_endpoint(&pod);
    let holder = holder::client::Client::connect(&endpoint).unwrap().pid;
    let killed = std::process::Command::new("kill").args(["-9", &holder.to_string()]).status().unwrap();
    assert!(killed.success());
    let exit = world.runtime().wait(&id).unwrap();
    assert_eq!((exit.reason, exit.code), (ExitReason::HolderDied, 137), "{exit:?}");
    world.end();
}

#[test]
fn a_holder_that_is_killed_takes_its_containers_along_and_the_pod_goes_on() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["generations", "3"]));
    world.says(&id, "generation 3");
    let started = world.runtime().status(&id).unwrap().started;
    let endpoint = world.runtime().node().layout.holder_endpoint(&pod);
    let holder = holder::client::Client::connect(&endpoint).unwrap().pid;
    let killed = std::process::Command::new("kill").args(["-9", &holder.to_string()]).status().unwrap();
    assert!(killed.success());
    let exit = world.runtime().wait(&id).unwrap();
    assert_eq!((exit.code, exit.reason), (137, ExitReason::HolderDied));
    assert_eq!(Some(exit.started), started);
    assert_eq!(world.run(&pod, world.config("next", &["exit", "0"])).0, 0);
    world.end();
}

#[test]
fn a_pod_whose_record_cannot_be_read_is_left_alone_and_named() {
    let mut world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let pid = world.runtime().status(&id).unwrap().pid.unwrap();
    world.close();
    let record = world.root().join("pods/p/pod.json");
    let good = std::fs::read(&record).unwrap();
    std::fs::write(&record, "{").unwrap();
    world.reopen();
    for error in [
        world.runtime().run_pod(world.pod_config("p")).unwrap_err(),
        world.runtime().remove_pod(&pod).unwrap_err(),
    ] {
        assert!(
            matches!(error, RuntimeError::Damaged { .. }) && error.to_string().contains("pod.json"),
            "{error}"
        );
    }
    assert!(is_alive(pid));
    world.close();
    std::fs::write(&record, good).unwrap();
    world.reopen();
    world.end();
    assert!(!is_alive(pid));
}
