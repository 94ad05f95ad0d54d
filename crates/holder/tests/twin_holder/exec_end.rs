//! How an exec ends when it does not end by itself: its time is over, its client is gone, or init ends.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holder::client::ClientError;
use holder::protocol::{Exec, Refusal};

use crate::support::{World, eventually, hear_all, hear_until, is_alive, shell_in};

// proves: HP-07 twin
#[test]
fn a_time_that_is_over_kills_the_process_and_what_it_left() {
    let world = World::lasting();
    let init = world.resting("a");
    // One child in the background, and one that has no parent any more.
    let script = "trap '' TERM; sleep 600 & echo $!; (sleep 600 & echo $!); wait";
    let begun = Instant::now();
    let all = hear_all(world.exec(Exec { timeout_ms: Some(500), ..shell_in("a", script) }).split().0);
    assert!(begun.elapsed() >= Duration::from_millis(500), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!((all.end.code, all.end.signal, all.end.timed_out), (137, Some(9), true));
    assert_eq!(all.end.message.as_deref(), Some("killed after 0.5 s"));
    let left: Vec<u32> = all.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(left.len(), 2, "{all:?}");
    eventually("all of it is gone", || !left.iter().any(|pid| is_alive(*pid)));
    assert!(is_alive(init));
    // In time is in time.
    let all = hear_all(world.exec(Exec { timeout_ms: Some(20_000), ..shell_in("a", "exit 4") }).split().0);
    assert_eq!((all.end.code, all.end.timed_out), (4, false));
    let all = hear_all(world.exec(Exec { timeout_ms: Some(u64::MAX), ..shell_in("a", "exit 5") }).split().0);
    assert_eq!((all.end.code, all.end.timed_out), (5, false));
    world.end("a");
}

#[test]
fn a_time_that_is_over_counts_also_while_nobody_reads() {
    let world = World::lasting();
    world.resting("a");
    let exec = Exec { timeout_ms: Some(500), ..shell_in("a", "exec cat /dev/zero") };
    let stream = world.exec(exec);
    let pid = stream.pid;
    eventually("it is killed", || !is_alive(pid));
    let all = hear_all(stream.split().0);
    assert!(all.end.timed_out && !all.stdout.is_empty(), "{:?}", all.end);
    world.end("a");
}

#[test]
fn a_client_that_goes_closes_the_input_and_the_process_has_ten_seconds() {
    let world = World::lasting();
    let init = world.resting("a");
    let polite = world.path("polite");
    let script = format!("echo on; cat; echo bye > {}", polite.display());
    let (mut reader, writer) = world.exec(Exec { stdin: true, ..shell_in("a", &script) }).split();
    hear_until(&mut reader, "on");
    let deaf = world.exec(Exec { stdin: true, ..shell_in("a", "sleep 600; cat") });
    let deaf_pid = deaf.pid;
    let left = Instant::now();
    drop((reader, writer, deaf));
    eventually("one ends by itself", || polite.exists());
    eventually("one is killed", || !is_alive(deaf_pid));
    let took = left.elapsed();
    assert!(took > Duration::from_secs(8) && took < Duration::from_secs(15), "{took:?}");
    assert!(is_alive(init));
    world.end("a");
}

/// Runs this test program again as a client, and kills it in the middle of an exec.
#[test]
fn a_client_that_is_killed_takes_its_exec_along_and_nothing_else() {
    const ENDPOINT: &str = "HOLDER_TEST_CLIENT_OF";
    if let Ok(endpoint) = std::env::var(ENDPOINT) {
        let client = holder::client::Client::connect(&endpoint.parse().unwrap()).unwrap();
        let exec = Exec { stdin: true, ..shell_in("a", "echo $$; exec sleep 600") };
        let (reader, mut writer) = client.exec(exec).unwrap().split();
        let writing = std::thread::spawn(move || {
            // The program never reads it: the holder is stuck in passing it on when we die.
            drop(writer.stdin(&vec![0; 4 << 20]));
        });
        for heard in reader {
            if let Ok(holder::client::Heard::Stdout(pid)) = heard {
                println!("pid {}", String::from_utf8_lossy(&pid).trim());
            }
        }
        drop(writing.join());
        return;
    }
    let world = World::lasting();
    let init = world.resting("a");
    let mut client = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "exec_end::a_client_that_is_killed_takes_its_exec_along_and_nothing_else",
            "--nocapture",
        ])
        .env(ENDPOINT, world.endpoint.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(client.stdout.take().unwrap()));
    let pid = lines.find_map(|line| {
        let line = line.unwrap();
        line.split_once("pid ").map(|(_, pid)| pid.trim().parse::<u32>().unwrap())
    });
    let pid = pid.unwrap();
    assert!(is_alive(pid));
    client.kill().unwrap();
    client.wait().unwrap();
    let killed = Instant::now();
    eventually("its exec is ended", || !is_alive(pid));
    assert!(killed.elapsed() > Duration::from_secs(8), "{:?}", killed.elapsed());
    assert!(is_alive(init));
    assert_eq!(hear_all(world.exec(shell_in("a", "echo fine")).split().0).stdout, "fine\n");
    world.end("a");
}

// proves: HP-07 twin
#[test]
fn the_end_of_init_ends_its_execs_and_their_streams() {
    let world = World::lasting();
    world.resting("a");
    let script = "trap '' TERM HUP; setsid sleep 600 & echo $!; exec sleep 600";
    let stream = world.exec(shell_in("a", script));
    let pid = stream.pid;
    let (mut reader, _writer) = stream.split();
    let beyond: u32 = hear_until(&mut reader, "\n").trim().parse().unwrap();
    assert!(is_alive(pid) && is_alive(beyond));
    world.end("a");
    // When the end of the container is told, they are gone, and so is what left their session.
    assert!(!is_alive(pid) && !is_alive(beyond));
    let all = hear_all(reader);
    assert_eq!((all.end.code, all.end.timed_out), (137, false));
}

/// Execs hail down while init ends: each either ran or was refused, and none outlives its container.
#[test]
fn an_exec_at_the_very_moment_of_the_end_is_refused_or_ended() {
    for round in 0..15 {
        let world = World::lasting();
        let id = format!("a{round}");
        let mut client = world.client();
        client.start(world.shell(&id, "echo on; sleep 0.05")).unwrap();
        let started: Vec<u32> = std::thread::scope(|scope| {
            let hail: Vec<_> = (0..4).map(|_| scope.spawn(|| execs_until_refused(&world, &id))).collect();
            hail.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let record = client.wait(&id).unwrap();
        assert_eq!((record.code, record.message.as_deref()), (0, None), "round {round}");
        for pid in started {
            assert!(!is_alive(pid), "{pid} outlived its container in round {round}");
        }
        let job = os::job::JobName { parent: world.job_parent.clone(), id };
        eventually("the job is gone", || !os::job::holds_processes(&job).unwrap());
    }
}

fn execs_until_refused(world: &World, id: &str) -> Vec<u32> {
    let mut started = Vec::new();
    loop {
        match world.client().exec(shell_in(id, "exec sleep 600")) {
            Ok(stream) => started.push(stream.pid),
            Err(ClientError::Refused { why: Refusal::State, .. }) => return started,
            Err(e) => panic!("{e:?}"),
        }
    }
}
