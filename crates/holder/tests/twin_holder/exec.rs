//! One more process beside init: its streams, its surroundings, and what refuses it.

use std::time::{Duration, Instant};

use holder::client::Heard;
use holder::protocol::{Exec, Refusal};

use crate::support::{World, eventually, hear_all, hear_until, is_alive, refusal, shell_in};

// proves: HP-07 twin
#[test]
fn an_exec_has_streams_an_end_and_a_place_in_the_job() {
    let world = World::lasting();
    world.resting("a");
    let stream = world.exec(shell_in("a", "echo out; echo err >&2; cat /proc/self/cgroup; exit 7"));
    assert!(stream.pid > 0);
    let all = hear_all(stream.split().0);
    assert!(all.stdout.starts_with("out\n"), "{all:?}");
    assert_eq!((all.stderr.as_str(), all.end.code, all.end.signal), ("err\n", 7, None));
    assert!(!all.end.timed_out && all.end.message.is_none(), "{all:?}");
    // In the same groups as init, by their names.
    assert!(all.stdout.contains(&format!("/{}/a\n", world.job_parent)), "{}", all.stdout);
    // Its output is its client's: the container's log has none of it.
    assert!(!world.log("a").contains("F out"));
    world.end("a");
}

#[test]
fn an_exec_is_in_the_view_of_its_container() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "readlink /proc/self/ns/mnt; exec sleep 600")).unwrap();
    eventually("it says where it is", || world.log("a").contains("mnt:["));
    let all = hear_all(world.exec(shell_in("a", "readlink /proc/self/ns/mnt")).split().0);
    assert!(world.log("a").contains(all.stdout.trim()), "{all:?} {}", world.log("a"));
    let ours = std::fs::read_link("/proc/self/ns/mnt").unwrap();
    assert_ne!(all.stdout.trim(), ours.to_str().unwrap());
    world.end("a");
}

#[test]
fn the_input_reaches_the_program_and_its_end_too() {
    let world = World::lasting();
    world.resting("a");
    let (reader, mut writer) =
        world.exec(Exec { stdin: true, ..shell_in("a", "cat; echo; echo end") }).split();
    writer.stdin(b"one ").unwrap();
    writer.stdin(b"").unwrap();
    writer.stdin(b"two").unwrap();
    writer.close_stdin().unwrap();
    // After the end nothing counts, and nothing breaks.
    writer.stdin(b"three").unwrap();
    assert_eq!(hear_all(reader).stdout, "one two\nend\n");
    let all = hear_all(world.exec(shell_in("a", "cat; echo none")).split().0);
    assert_eq!(all.stdout, "none\n");
    world.end("a");
}

#[test]
fn large_amounts_pass_both_ways_unchanged() {
    let world = World::lasting();
    world.resting("a");
    let (reader, mut writer) = world.exec(Exec { stdin: true, ..shell_in("a", "cat") }).split();
    let sent: Vec<u8> = (0u32..3_000_000).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let copy = sent.clone();
    let sending = std::thread::spawn(move || {
        writer.stdin(&copy).unwrap();
        writer.close_stdin().unwrap();
    });
    let mut got = Vec::new();
    for heard in reader {
        match heard.unwrap() {
            Heard::Stdout(bytes) => got.extend(bytes),
            Heard::Ended(end) => assert_eq!(end.code, 0),
            other => panic!("{other:?}"),
        }
    }
    sending.join().unwrap();
    assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
    world.end("a");
}

#[test]
fn a_slow_reader_stops_the_program_and_nobody_else() {
    let world = World::lasting();
    world.resting("a");
    let marks = world.path("marks");
    let script = format!(
        "i=0; while [ $i -lt 2000 ]; do head -c 4096 /dev/zero; i=$((i+1)); echo $i > {}; done",
        marks.display()
    );
    let (reader, _writer) = world.exec(shell_in("a", &script)).split();
    let written = || std::fs::read_to_string(&marks).ok().and_then(|text| text.trim().parse::<u32>().ok());
    // Nobody reads: what the sockets, pipes and threads hold between them is all that it gets rid of.
    let mut seen = None;
    eventually("it stands still", || {
        let before = std::mem::replace(&mut seen, written());
        std::thread::sleep(Duration::from_millis(300));
        before.is_some() && before == seen
    });
    assert!(seen.unwrap() < 500, "{seen:?} pieces of 4 KiB went nowhere");
    // Others go on meanwhile.
    assert_eq!(hear_all(world.exec(shell_in("a", "echo quick")).split().0).stdout, "quick\n");
    let mut bytes = 0;
    for heard in reader {
        match heard.unwrap() {
            Heard::Stdout(piece) => bytes += piece.len(),
            Heard::Ended(end) => assert_eq!(end.code, 0),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bytes, 2000 * 4096);
    world.end("a");
}

#[test]
fn what_stays_in_the_background_does_not_keep_the_client() {
    let world = World::lasting();
    world.resting("a");
    let begun = Instant::now();
    let all = hear_all(world.exec(shell_in("a", "sleep 600 & echo $!; exit 3")).split().0);
    assert_eq!(all.end.code, 3);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let left: u32 = all.stdout.trim().parse().unwrap();
    assert!(is_alive(left), "it was not asked to end");
    world.end("a");
    assert!(!is_alive(left), "it outlived its container");
}

#[test]
fn what_cannot_be_started_is_refused_with_its_reason() {
    let world = World::lasting();
    world.resting("a");
    let missing = Exec { program: "/not/there".into(), ..shell_in("a", "") };
    match world.client().exec(missing).unwrap_err() {
        holder::client::ClientError::Refused { why: Refusal::Start, message } => {
            assert!(message.contains("/not/there") && message.contains("No such file"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(refusal(world.client().exec(shell_in("b", "exit 0"))), Refusal::Unknown);
    world.end("a");
    assert_eq!(refusal(world.client().exec(shell_in("a", "exit 0"))), Refusal::State);
}

#[test]
fn an_exec_becomes_whom_it_is_told() {
    let world = World::lasting();
    world.resting("a");
    let identity = os::user::Identity::Ids { uid: 12_345, gid: 23_456, groups: vec![34_567] };
    let exec = Exec { identity, ..shell_in("a", "id -u; id -g; id -G") };
    let all = hear_all(world.exec(exec).split().0);
    assert_eq!(all.stdout, "12345\n23456\n23456 34567\n");
    world.end("a");
}

#[test]
fn bytes_that_are_no_chunks_end_the_stream_and_then_the_process() {
    use std::io::Write;
    let world = World::lasting();
    world.resting("a");
    let mut connection = os::channel::Connection::connect(&world.endpoint).unwrap();
    let request = holder::protocol::Request::Exec(Box::new(shell_in("a", "echo $$; exec sleep 600")));
    holder::protocol::send(&mut connection, &request).unwrap();
    let answer = holder::protocol::receive(&mut connection).unwrap();
    let holder::protocol::Answer::Streaming { pid } = answer else { panic!("{answer:?}") };
    connection.write_all(b"\x09\0\0\0\0").unwrap();
    eventually("it is killed", || !is_alive(pid));
    assert_eq!(world.client().list().unwrap().len(), 1);
    world.end("a");
}

#[test]
fn many_at_once_do_not_mix() {
    let world = World::lasting();
    world.resting("a");
    std::thread::scope(|scope| {
        for number in 0..20 {
            let world = &world;
            scope.spawn(move || {
                let script = format!("echo {number}; sleep 0.0{number}; echo {number}; exit {number}");
                let all = hear_all(world.exec(shell_in("a", &script)).split().0);
                assert_eq!((all.stdout, all.end.code), (format!("{number}\n{number}\n"), number));
            });
        }
    });
    let (mut reader, writer) = world.exec(shell_in("a", "echo here; exec sleep 600")).split();
    hear_until(&mut reader, "here");
    // Hung up by the other half, as by another thread.
    writer.hang_up().unwrap();
    assert!(reader.next().is_some_and(|heard| heard.is_err()));
    assert!(reader.next().is_none());
    world.end("a");
}
