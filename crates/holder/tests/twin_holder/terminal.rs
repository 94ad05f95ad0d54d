//! A terminal in place of pipes: for an exec, and for a container.

use holder::client::{StreamReader, StreamWriter};
use holder::protocol::{Exec, Launch};
use os::terminal::Size;

use crate::support::{World, eventually, hear_all, hear_until, shell_in};

const SIZE: Size = Size { columns: 91, rows: 33 };

fn on_terminal(world: &World, script: &str) -> (StreamReader, StreamWriter) {
    world.exec(Exec { stdin: true, terminal: Some(SIZE), ..shell_in("a", script) }).split()
}

#[test]
fn the_program_sees_a_terminal_of_that_size_and_its_own() {
    let world = World::lasting();
    world.resting("a");
    let script = "for fd in 0 1 2; do [ -t $fd ] && echo tty $fd; done; stty size; \
                  echo hidden > /dev/tty; ps -o tty= -p $$; echo err >&2; exit 6";
    let (reader, _writer) = on_terminal(&world, script);
    let all = hear_all(reader);
    assert!(all.stdout.contains("tty 0\r\ntty 1\r\ntty 2\r\n33 91\r\nhidden\r\npts/"), "{all:?}");
    assert!(all.stdout.ends_with("err\r\n") && all.stderr.is_empty(), "{all:?}");
    assert_eq!(all.end.code, 6);
    world.end("a");
}

#[test]
fn another_size_is_seen_and_told() {
    let world = World::lasting();
    world.resting("a");
    let (mut reader, mut writer) =
        on_terminal(&world, "trap 'stty size' WINCH; echo on; while :; do sleep 0.05; done");
    hear_until(&mut reader, "on\r\n");
    writer.resize(Size { columns: 120, rows: 40 }).unwrap();
    hear_until(&mut reader, "40 120\r\n");
    writer.resize(Size { columns: 10, rows: 5 }).unwrap();
    hear_until(&mut reader, "5 10\r\n");
    world.end("a");
}

#[test]
fn what_a_person_types_is_shown_and_means_what_it_does() {
    let world = World::lasting();
    world.resting("a");
    let script = "trap 'echo interrupted; exit 9' INT; echo on; read line; echo \"<$line>\"; cat; echo eof; while :; do sleep 0.05; done";
    let (mut reader, mut writer) = on_terminal(&world, script);
    hear_until(&mut reader, "on\r\n");
    writer.stdin(b"hi\r").unwrap();
    // Once as an echo of the terminal's, once by the program.
    let heard = hear_until(&mut reader, "<hi>\r\n");
    assert_eq!(heard, "hi\r\n<hi>\r\n");
    // The end of the input, for cat, and then Ctrl-C, which would take an end with it that nobody has read.
    writer.stdin(b"\x04").unwrap();
    hear_until(&mut reader, "eof\r\n");
    writer.stdin(b"\x03").unwrap();
    let all = hear_all(reader);
    assert!(all.stdout.ends_with("interrupted\r\n"), "{all:?}");
    assert_eq!(all.end.code, 9);
    world.end("a");
}

#[test]
fn a_closed_input_is_an_end_of_input_at_the_terminal() {
    let world = World::lasting();
    world.resting("a");
    let (mut reader, mut writer) = on_terminal(&world, "echo on; cat; echo over");
    hear_until(&mut reader, "on\r\n");
    writer.close_stdin().unwrap();
    let all = hear_all(reader);
    assert!(all.stdout.ends_with("over\r\n"), "{all:?}");
    world.end("a");
}

#[test]
fn another_account_may_open_its_terminal_by_name() {
    let world = World::lasting();
    world.resting("a");
    let identity = os::user::Identity::Ids { uid: 12_345, gid: 23_456, groups: Vec::new() };
    let exec = Exec { identity, terminal: Some(SIZE), ..shell_in("a", "echo by name > /dev/stdout; id -u") };
    let all = hear_all(world.exec(exec).split().0);
    assert_eq!(all.stdout, "by name\r\n12345\r\n");
    world.end("a");
}

#[test]
fn what_is_left_at_a_terminal_hears_that_it_is_gone() {
    let world = World::lasting();
    world.resting("a");
    let (reader, _writer) = on_terminal(&world, "sleep 600 & echo $!");
    let left: u32 = hear_all(reader).stdout.trim().parse().unwrap();
    // The session's leader has ended: the kernel hangs up, as at any terminal.
    eventually("it is gone or at no terminal", || {
        let stat = std::fs::read_to_string(format!("/proc/{left}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_none_or(|(_, rest)| rest.split_whitespace().nth(4) == Some("0"))
    });
    world.end("a");
}

#[test]
fn a_container_at_a_terminal_logs_attaches_and_resizes() {
    let world = World::lasting();
    let script = "trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done";
    let launch = Launch { stdin: true, terminal: Some(SIZE), ..world.shell("a", script) };
    let mut client = world.client();
    client.start(launch).unwrap();
    eventually("it says its size", || world.log("a").contains(" stdout F 33 91\r\n"));
    let (mut reader, mut writer) = world.client().attach("a", true).unwrap().split();
    writer.resize(Size { columns: 77, rows: 11 }).unwrap();
    hear_until(&mut reader, "11 77\r\n");
    // Ctrl-C from an attached client ends the container.
    writer.stdin(b"\x03").unwrap();
    let record = client.wait("a").unwrap();
    assert_eq!((record.code, record.signal, record.message.as_deref()), (130, Some(2), None), "{record:?}");
    let log = world.log("a");
    assert!(log.contains(" stdout F 11 77\r\n"), "{log}");
    assert!(!log.contains("stderr"), "{log}");
    // What stands without a line end is a part, with a terminal too.
    assert!(log.lines().last().is_some_and(|line| line.contains(" stdout P ^C")), "{log}");
}

#[test]
fn without_a_terminal_a_resize_does_no_harm() {
    let world = World::lasting();
    world.resting("a");
    let (reader, mut writer) = world.exec(Exec { stdin: true, ..shell_in("a", "cat") }).split();
    writer.resize(SIZE).unwrap();
    writer.stdin(b"still here").unwrap();
    writer.close_stdin().unwrap();
    assert_eq!(hear_all(reader).stdout, "still here");
    world.end("a");
}
