//! A container's life in the holder, and the holder's own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use holder::client::{Client, ClientError};
use holder::exit::ExitReason;
use holder::protocol::{Launch, Refusal};
use os::channel::Listener;
use os::job::JobName;

use crate::support::{Program, World, eventually, is_alive, refusal};

// proves: HP-07 twin
#[test]
fn a_container_runs_logs_and_leaves_a_record() {
    let world = World::lasting();
    let mut client = world.client();
    let begun = client.start(world.shell("a", "echo out; echo err >&2; exit 7")).unwrap();
    let record = client.wait("a").unwrap();
    assert_eq!((record.code, record.reason, record.message.as_deref()), (7, ExitReason::Error, None));
    assert!(record.started <= record.finished);
    assert_eq!(begun.started.as_ref(), Some(&record.started), "one clock tells it");
    assert_eq!(world.record("a"), Some(record.clone()));
    let log = world.log("a");
    assert!(log.contains(" stdout F out\n") && log.contains(" stderr F err\n"), "{log}");
    // Asked again, after the end: the same answer at once.
    assert_eq!(client.wait("a").unwrap(), record);
    let held = client.list().unwrap().remove(0);
    assert_eq!((held.id.as_str(), held.stopping, held.exit), ("a", false, Some(record)));
    client.leave().unwrap();
    drop(client);
    world.join();
}

#[test]
fn a_stop_gives_init_its_time_and_no_more() {
    let world = World::lasting();
    let mut client = world.client();
    client
        .start(world.shell("polite", "trap 'echo bye; exit 0' TERM; echo on; while :; do sleep 0.05; done"))
        .unwrap();
    client.start(world.shell("deaf", "trap '' TERM; echo on; while :; do sleep 0.05; done")).unwrap();
    eventually("both run", || ["polite", "deaf"].iter().all(|id| world.log(id).contains("F on")));
    client.stop("polite", Duration::from_secs(20)).unwrap();
    let record = client.wait("polite").unwrap();
    assert_eq!((record.code, record.message), (0, None));
    assert!(world.log("polite").contains("F bye"));

    let begun = Instant::now();
    client.stop("deaf", Duration::from_millis(300)).unwrap();
    assert!(client.list().unwrap().iter().any(|held| held.id == "deaf" && held.stopping));
    let record = client.wait("deaf").unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!((record.code, record.signal), (137, Some(9)));
    assert!(record.message.as_deref().is_some_and(|m| m.starts_with("killed after a grace period of 0.3 s")));
}

#[test]
fn a_second_stop_can_shorten_the_wait_but_not_lengthen_it() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("deaf", "trap '' TERM; echo on; while :; do sleep 0.05; done")).unwrap();
    eventually("it runs", || world.log("deaf").contains("F on"));
    client.stop("deaf", Duration::from_secs(600)).unwrap();
    client.stop("deaf", Duration::from_millis(10)).unwrap();
    client.stop("deaf", Duration::from_secs(600)).unwrap();
    assert_eq!(client.wait("deaf").unwrap().code, 137);
    assert_eq!(refusal(client.stop("deaf", Duration::ZERO)), Refusal::State);
}

// proves: HP-07 twin
#[test]
fn what_init_leaves_behind_is_ended_before_the_exit_is_told() {
    let world = World::lasting();
    let mut client = world.client();
    let said = world.path("said");
    let said = said.display();
    let orphan = format!("trap \"\" TERM HUP; echo $$; touch {said}; exec sleep 600");
    let script = format!("sh -c '{orphan}' & until [ -e {said} ]; do sleep 0.01; done; exit 5");
    client.start(world.shell("a", &script)).unwrap();
    let record = client.wait("a").unwrap();
    assert_eq!((record.code, record.message.as_deref()), (5, None));
    let log = world.log("a");
    let orphan: u32 = log.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(!is_alive(orphan), "{orphan} outlived its container");
}

#[test]
fn a_start_that_fails_says_why_and_leaves_nothing() {
    let world = World::lasting();
    let mut client = world.client();
    let missing = Launch { program: "/not/there".into(), ..world.shell("a", "") };
    match client.start(missing) {
        Err(ClientError::Refused { why: Refusal::Start, message }) => {
            assert!(message.contains("/not/there") && message.contains("No such file"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    let no_log = Launch { log: "/not/there/log".into(), ..world.shell("a", "") };
    assert_eq!(refusal(client.start(no_log)), Refusal::System);
    assert_eq!(client.list().unwrap(), []);
    // The name is free again.
    client.start(world.shell("a", "exit 0")).unwrap();
    assert_eq!(client.wait("a").unwrap().code, 0);
}

#[test]
fn ids_are_taken_unknown_and_free_again() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "sleep 600")).unwrap();
    assert_eq!(refusal(client.start(world.shell("a", "exit 0"))), Refusal::Taken);
    assert_eq!(refusal(client.wait("b")), Refusal::Unknown);
    assert_eq!(refusal(client.stats("b")), Refusal::Unknown);
    assert_eq!(refusal(client.stop("b", Duration::ZERO)), Refusal::Unknown);
    assert_eq!(refusal(client.leave()), Refusal::State);
    client.stop("a", Duration::ZERO).unwrap();
    client.wait("a").unwrap();
    // A start forgets those that ended: they are on disk.
    client.start(world.shell("b", "sleep 600")).unwrap();
    assert_eq!(client.list().unwrap().iter().map(|held| held.id.as_str()).collect::<Vec<_>>(), ["b"]);
    client.stop("b", Duration::ZERO).unwrap();
    client.wait("b").unwrap();
}

#[test]
fn the_counters_of_a_job_count() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "sleep 600 & sleep 600")).unwrap();
    eventually("three processes", || client.stats("a").unwrap().processes == 3);
    client.stop("a", Duration::ZERO).unwrap();
    client.wait("a").unwrap();
    assert_eq!(refusal(client.stats("a")), Refusal::System);
}

#[test]
fn a_waiting_client_does_not_keep_others_waiting() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "sleep 600")).unwrap();
    let mut other = world.client();
    let waiting = std::thread::spawn(move || other.wait("a").unwrap().code);
    assert_eq!(client.list().unwrap().len(), 1);
    client.stop("a", Duration::ZERO).unwrap();
    assert_eq!(waiting.join().unwrap(), 137);
}

#[test]
fn a_holder_with_nothing_to_hold_and_nobody_to_hear_goes() {
    let world = World::new(Duration::from_millis(200));
    let client = world.client();
    // Connected: it stays, however idle. Three times its limit, because an absence has no condition to wait for.
    std::thread::sleep(Duration::from_millis(600));
    assert!(!world.server.as_ref().unwrap().is_finished());
    drop(client);
    world.join();
}

#[test]
fn a_holder_stays_for_a_running_container_and_goes_after_it() {
    let world = World::new(Duration::from_millis(200));
    let mut client = world.client();
    let over = world.path("over");
    let script = format!("until [ -e {} ]; do sleep 0.02; done; exit 3", over.display());
    client.start(world.shell("a", &script)).unwrap();
    drop(client);
    // Three times its limit, as above.
    std::thread::sleep(Duration::from_millis(700));
    assert!(!world.server.as_ref().unwrap().is_finished(), "it left its container alone");
    std::fs::write(over, "").unwrap();
    eventually("the container ends", || world.record("a").is_some());
    let dir = world.path("a.exit.json");
    assert!(dir.exists());
    world.join();
}

#[test]
fn garbage_on_the_wire_ends_that_connection_only() {
    let world = World::lasting();
    let mut client = world.client();
    for bytes in [&b"\xff\xff\xff\xff"[..], b"\0\0\0\0", b"\x05\0\0\0\x01{]{]", b"\x02\0\0\0\xee\"\""] {
        let mut connection = os::channel::Connection::connect(&world.endpoint).unwrap();
        std::io::Write::write_all(&mut connection, bytes).unwrap();
        let mut rest = Vec::new();
        // Closed by the other side: an end or a reset, never an answer.
        drop(std::io::Read::read_to_end(&mut connection, &mut rest));
        assert_eq!(rest, b"", "{bytes:?}");
    }
    assert_eq!(client.list().unwrap(), []);
}

#[test]
fn nobody_there_differs_from_somebody_strange() {
    let world = World::without_server();
    assert!(Client::connect(&world.endpoint).unwrap_err().is_absent());
    for answer in [&b"\x20\0\0\0\x01{\"Hello\":{\"version\":9,\"pid\":7}}"[..], b"\x07\0\0\0\x01\"Left\""] {
        let listener = Listener::bind(&world.endpoint).unwrap();
        let server = std::thread::spawn(move || {
            let mut connection = listener.accept().unwrap();
            drop(holder::protocol::receive::<holder::protocol::Request>(&mut connection));
            std::io::Write::write_all(&mut connection, answer).unwrap();
            connection
        });
        let error = Client::connect(&world.endpoint).unwrap_err();
        assert!(matches!(error, ClientError::Version(9) | ClientError::OffTopic), "{error:?}");
        assert!(!error.is_absent());
        drop(server.join().unwrap());
        os::channel::remove_leftover(&world.endpoint).unwrap();
    }
}

#[test]
fn the_program_holds_and_leaves() {
    let mut program = Program::start();
    let mut client = program.world.client();
    assert_eq!(client.pid, program.child.id());
    client.start(program.world.shell("a", "exit 0")).unwrap();
    assert_eq!(client.wait("a").unwrap().reason, ExitReason::Completed);
    client.leave().unwrap();
    drop(client);
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

// proves: HP-07 twin
#[test]
fn the_program_killed_takes_everything_along() {
    let mut program = Program::start();
    let mut client = program.world.client();
    let script = "sh -c 'trap \"\" TERM HUP; echo $$; exec sleep 600' & exec sleep 600";
    let init = client.start(program.world.shell("a", script)).unwrap().pid;
    eventually("the second process says its id", || program.world.log("a").ends_with('\n'));
    let log = program.world.log("a");
    let second: u32 = log.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(is_alive(init) && is_alive(second));
    program.child.kill().unwrap();
    program.child.wait().unwrap();
    eventually("all end, without an agent", || !is_alive(init) && !is_alive(second));
    assert!(client.list().unwrap_err().is_absent());
    assert!(program.world.record("a").is_none());
    let job = JobName { parent: program.world.job_parent.clone(), id: "a".into() };
    eventually("the job is gone", || !os::job::sweep(&job).unwrap());
}

#[test]
fn a_log_that_is_full_does_not_end_the_containers() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut program = Program::start_with(full.into());
    let mut client = program.world.client();
    client.start(program.world.shell("lasting", "sleep 600")).unwrap();
    // Its end cannot be recorded, and that cannot be noted either.
    let unrecorded = Launch { exit: "/not/there/exit.json".into(), ..program.world.shell("a", "exit 4") };
    client.start(unrecorded).unwrap();
    assert_eq!(client.wait("a").unwrap().code, 4);
    assert!(client.list().unwrap().iter().any(|held| held.id == "lasting" && held.exit.is_none()));
    assert_eq!(program.child.try_wait().unwrap(), None);
    client.stop("lasting", Duration::ZERO).unwrap();
    client.wait("lasting").unwrap();
    client.leave().unwrap();
    drop(client);
    program.child.wait().unwrap();
}

#[test]
fn a_holder_that_is_stuck_is_neither_waited_for_nor_taken_for_dead() {
    let mut program = Program::start();
    let mut client = program.world.client();
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &program.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    };
    signal("-STOP");
    // The one thread that the signal met stops first, the others when it has come to run. Until then one look may miss
    // a thread that comes or goes meanwhile.
    let mut looks = 0;
    eventually("every thread has stopped", || {
        let stopped = threads(program.child.id()).iter().all(|state| state == "T");
        looks = if stopped { looks + 1 } else { 0 };
        looks == 5
    });
    let begun = Instant::now();
    for error in [client.list().unwrap_err(), Client::connect(&program.world.endpoint).unwrap_err()] {
        assert!(!error.is_absent(), "{error:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    signal("-CONT");
    drop(client);
    let mut client = program.world.client();
    client.leave().unwrap();
    drop(client);
    program.child.wait().unwrap();
}

/// The state of each thread of a process.
fn threads(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let state = |task: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap();
        let (_, behind) = stat.rsplit_once(") ").unwrap();
        behind.chars().take(1).collect()
    };
    tasks.map(|task| state(task.unwrap())).collect()
}

#[test]
fn a_holder_that_leaves_takes_nothing_on() {
    let world = World::lasting();
    let mut client = world.client();
    client.leave().unwrap();
    assert_eq!(refusal(client.start(world.shell("a", "exit 0"))), Refusal::State);
}

#[test]
fn the_program_used_wrongly_says_how() {
    for arguments in [&[][..], &["--endpoint"], &["--end", "x"], &["--endpoint", "x", "y"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_porthole-hold")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("usage: porthole-hold --endpoint"));
    }
    let output =
        Command::new(env!("CARGO_BIN_EXE_porthole-hold")).args(["--endpoint", "/not/there/x"]).output();
    assert_eq!(output.unwrap().status.code(), Some(3));
}

#[test]
fn no_secret_is_written_anywhere() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "exit 0")).unwrap();
    client.wait("a").unwrap();
    for file in std::fs::read_dir(world.dir.path()).unwrap().map(|entry| entry.unwrap().path()) {
        assert!(!holds(&file, b"hush"), "{}", file.display());
    }
}

fn holds(file: &Path, text: &[u8]) -> bool {
    std::fs::read(file).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text))
}
