//! Looking at a container, and typing into it.

use std::time::Duration;

use holder::client::{Client, Heard, StreamReader};
use holder::protocol::{Launch, Refusal};

use crate::support::{World, eventually, hear_until, refusal};

/// A container that says back what it is told.
fn echoing(world: &World, launch: impl FnOnce(Launch) -> Launch) -> Client {
    let script = "echo on; while read line; do echo \"got $line\"; done; echo closed; exec sleep 600";
    let mut client = world.client();
    client.start(launch(Launch { stdin: true, ..world.shell("a", script) })).unwrap();
    eventually("it runs", || world.log("a").contains("F on"));
    client
}

fn rest(reader: StreamReader) -> Vec<Heard> {
    reader.map(|heard| heard.unwrap()).collect()
}

#[test]
fn everybody_sees_the_output_from_now_on_and_the_log_has_it_too() {
    let world = World::lasting();
    let mut client = echoing(&world, |launch| launch);
    let (mut one, mut typing) = world.client().attach("a", true).unwrap().split();
    let (mut two, _) = world.client().attach("a", false).unwrap().split();
    typing.stdin(b"hello\n").unwrap();
    // What was said before they came is the log's.
    assert_eq!(hear_until(&mut one, "\n"), "got hello\n");
    assert_eq!(hear_until(&mut two, "\n"), "got hello\n");
    eventually("it is in the log", || world.log("a").contains(" stdout F got hello\n"));
    client.stop("a", Duration::ZERO).unwrap();
    client.wait("a").unwrap();
    assert_eq!(rest(one), [Heard::Detached]);
    assert_eq!(rest(two), [Heard::Detached]);
    assert_eq!(refusal(world.client().attach("a", false)), Refusal::State);
    assert_eq!(refusal(world.client().attach("b", false)), Refusal::Unknown);
}

#[test]
fn an_input_that_is_not_for_once_survives_its_clients() {
    let world = World::lasting();
    let _client = echoing(&world, |launch| launch);
    for word in ["first", "second"] {
        let (mut reader, mut writer) = world.client().attach("a", true).unwrap().split();
        writer.stdin(format!("{word}\n").as_bytes()).unwrap();
        assert_eq!(hear_until(&mut reader, "\n"), format!("got {word}\n"));
        writer.close_stdin().unwrap();
        writer.stdin(b"more\n").unwrap();
        assert_eq!(hear_until(&mut reader, "\n"), "got more\n");
    }
    assert!(!world.log("a").contains("closed"));
    world.end("a");
}

#[test]
fn an_input_for_once_ends_with_its_first_client() {
    for closing in [true, false] {
        let world = World::lasting();
        let _client = echoing(&world, |launch| Launch { stdin_once: true, ..launch });
        let (mut watching, _) = world.client().attach("a", false).unwrap().split();
        let (reader, mut writer) = world.client().attach("a", true).unwrap().split();
        writer.stdin(b"last\n").unwrap();
        if closing {
            writer.close_stdin().unwrap();
        } else {
            drop((reader, writer));
        }
        let heard = hear_until(&mut watching, "closed");
        assert!(heard.starts_with("got last\n"), "{heard}");
        world.end("a");
    }
}

#[test]
fn a_container_without_an_input_takes_none() {
    let world = World::lasting();
    world.resting("a");
    assert_eq!(refusal(world.client().attach("a", true)), Refusal::State);
    drop(world.client().attach("a", false).unwrap());
    world.end("a");
}

#[test]
fn who_does_not_read_is_sent_away_and_holds_nobody_up() {
    let world = World::lasting();
    let mut client = world.client();
    let script =
        "while [ ! -e go ]; do sleep 0.02; done; head -c 8000000 /dev/zero | tr '\\0' x; echo; echo done";
    let launch = world.shell("a", script);
    client.start(Launch { cwd: world.dir.path().into(), ..launch }).unwrap();
    let (slow, _kept) = world.client().attach("a", false).unwrap().split();
    let (quick, _) = world.client().attach("a", false).unwrap().split();
    let quick = std::thread::spawn(move || {
        let mut bytes = 0;
        for heard in quick {
            match heard.unwrap() {
                Heard::Stdout(piece) => bytes += piece.len(),
                Heard::Detached => return Some(bytes),
                // Slower than the shell by chance, and told so: the point here is the one that never reads.
                Heard::Overrun => return None,
                other => panic!("{other:?}"),
            }
        }
        None
    });
    std::fs::write(world.path("go"), "").unwrap();
    // The container ends by itself, although one client never read a byte.
    assert_eq!(client.wait("a").unwrap().code, 0);
    if let Some(bytes) = quick.join().unwrap() {
        assert_eq!(bytes, 8_000_006);
    }
    let mut bytes = 0;
    let last = slow.map(|heard| heard.unwrap()).find_map(|heard| match heard {
        Heard::Stdout(piece) => {
            bytes += piece.len();
            None
        }
        other => Some(other),
    });
    assert_eq!(last, Some(Heard::Overrun));
    assert!(bytes < 2_000_000, "{bytes} bytes were kept for a client that did not read");
    let log = world.log("a");
    let text: usize = log.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap().len()).sum();
    assert_eq!(text, 8_000_004);
    assert!(log.ends_with(" stdout F done\n"));
}

#[test]
fn clients_that_come_and_go_leave_no_thread() {
    let program = crate::support::Program::start();
    program.world.resting("a");
    let threads = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap().to_owned();
        line.trim().parse::<u32>().unwrap()
    };
    let before = threads();
    for _ in 0..50 {
        drop(program.world.client().attach("a", false).unwrap());
    }
    eventually("all threads are gone", || threads() <= before);
    program.world.end("a");
}
