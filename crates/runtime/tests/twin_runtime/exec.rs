//! Programs that are run inside containers, and containers that are listened to.

use std::time::{Duration, Instant};

use holder::client::Heard;
use runtime::RuntimeError;
use runtime::config::ExecRequest;

use crate::world::{World, eventually, is_alive};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_program_runs_in_the_containers_job_with_its_eyes_and_variables() {
    let world = World::new();
    let volume = world.volume("one", "first");
    let target = world.path("target");
    let pod = world.pod("p");
    let mut config = world.config("main", &["pause"]);
    config.mounts = vec![crate::world::mount(&volume, &target)];
    config.env = vec![("COLOUR".into(), "red".into())];
    let id = world.start(&pod, config);
    world.says(&id, "ready");
    let run = |argv: &[&str]| world.runtime().exec_sync(&id, &words(argv), None).unwrap();
    let output = run(&["sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert_eq!((output.code, output.timed_out), (7, false));
    let text = |argv: &[&str]| String::from_utf8(run(argv).stdout).unwrap().trim().to_owned();
    assert_eq!(text(&["./fixture", "env", "COLOUR"]), "red");
    assert_eq!(text(&["./fixture", "cwd"]), world.root().join("hpc").to_str().unwrap());
    assert_eq!(text(&["cat", target.join("file").to_str().unwrap()]), "first");
    let error = world.runtime().exec_sync(&id, &words(&["./nothing"]), None).unwrap_err();
    assert!(matches!(error, RuntimeError::Exec { .. }) && error.to_string().contains("looked at"), "{error}");
    assert!(world.runtime().exec_sync(&id, &[], None).is_err());
    world.end();
}

#[test]
fn a_program_that_takes_too_long_is_killed() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let begun = Instant::now();
    let argv = words(&["sh", "-c", "echo $$; exec sleep 600"]);
    let output = world.runtime().exec_sync(&id, &argv, Some(Duration::from_millis(500))).unwrap();
    assert!(output.timed_out, "{output:?}");
    assert!((Duration::from_millis(500)..Duration::from_secs(10)).contains(&begun.elapsed()));
    let pid: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    eventually("it is killed", || (!is_alive(pid)).then_some(()));
    assert!(is_alive(world.runtime().status(&id).unwrap().pid.unwrap()), "init is untouched");
    world.end();
}

#[test]
fn what_nobody_could_hold_is_cut_off_and_the_program_runs_to_its_end() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let argv = words(&["sh", "-c", "head -c 20000000 /dev/zero; exit 3"]);
    let output = world.runtime().exec_sync(&id, &argv, None).unwrap();
    assert_eq!((output.stdout.len(), output.code), (16 << 20, 3));
    world.end();
}

#[test]
fn streams_go_both_ways() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let request = ExecRequest { argv: words(&["cat"]), stdin: true, ..ExecRequest::default() };
    let (reader, mut writer) = world.runtime().exec(&id, &request).unwrap().split();
    writer.stdin(b"one\n").unwrap();
    writer.close_stdin().unwrap();
    let mut heard = Vec::new();
    for each in reader {
        match each.unwrap() {
            Heard::Stdout(bytes) => heard.extend(bytes),
            Heard::Ended(end) => assert_eq!(end.code, 0),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(heard, b"one\n");
    world.end();
}

#[test]
fn a_container_with_an_input_hears_who_attaches() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &["echo"]);
    (config.stdin, config.stdin_once) = (true, true);
    let id = world.start(&pod, config);
    let (mut reader, mut writer) = world.runtime().attach(&id, true).unwrap().split();
    writer.stdin(b"hello\n").unwrap();
    let heard = reader.next().unwrap().unwrap();
    assert_eq!(heard, Heard::Stdout(b"hello\n".to_vec()));
    writer.close_stdin().unwrap();
    assert_eq!(world.runtime().wait(&id).unwrap().code, 0);
    assert!(world.said(&id).contains("hello"));
    world.end();
}

#[test]
fn a_terminal_is_one() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &[]);
    config.command = words(&["sh", "-c", "test -t 1 && echo terminal; test -t 0 && stty size"]);
    config.tty = true;
    config.stdin = true;
    let (code, said) = world.run(&pod, config);
    assert!(code == 0 && said.contains("terminal") && said.contains("25 80"), "{code}: {said}");
    world.end();
}

#[test]
fn a_log_that_was_moved_away_goes_on_in_a_new_one() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["lines", "0", "20"]));
    world.says(&id, "line 3");
    let log = world.runtime().status(&id).unwrap().log;
    std::fs::rename(&log, world.path("old.log")).unwrap();
    world.runtime().reopen_log(&id).unwrap();
    eventually("it writes the new one", || std::fs::metadata(&log).ok().filter(|found| found.len() > 0));
    world.end();
}
