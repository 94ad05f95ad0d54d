//! `porthole exec`, `attach`, `stats`, `port-forward`, `stop` and `rm` on this host: with an agent and without one.

mod person;
#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use person::{Person, verb};
use serde_json::{Value, json};
use stage::{Stage, eventually, plays};

#[test]
fn exec_gives_what_the_command_says_and_its_code() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    plays::exec_gives_what_the_command_says_and_its_code(&stage);
    let refused = stage.porthole("exec", &["web", "--", "no-such-program"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("no-such-program"), "{}", refused.stderr);
    assert_eq!(stage.porthole("exec", &["web"]).code, 2);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn exec_passes_on_stdin_and_its_end() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let mut child = verb(&stage, "exec", &["-i", "web", "--", "./fixture", "echo"]);
    let mut stdin = child.stdin.take().unwrap();
    let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
    let sent = text.clone();
    // Written while it is read: neither side may need to hold it all.
    let writer = std::thread::spawn(move || stdin.write_all(sent.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), text.len()));
    assert_eq!(output.stdout, text.as_bytes());
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn exec_with_a_terminal_knows_the_window_and_follows_it() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let mut person =
        Person::at_a_terminal(&stage, (100, 30), "exec", &["-it", "web", "--", "./fixture", "terminal"]);
    person.sees("size=100x30");
    person.resizes(120, 40);
    // The window is looked at now and then: typed again until it is known.
    eventually("the command knows the new size", || {
        person.types("again\r");
        person.has_seen("again=120x40").then_some(())
    });
    person.types("bye\r");
    assert_eq!(person.code(), 0);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn ctrl_c_at_a_terminal_is_the_commands_and_ends_it() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let mut person = Person::at_a_terminal(
        &stage,
        (80, 24),
        "exec",
        &["-it", "web", "--", "sh", "-c", "echo rea''dy; sleep 600"],
    );
    person.sees("ready");
    person.types("\x03");
    assert_eq!(person.code(), 130, "{}", person.seen());
    assert_eq!(stage.container()["state"], "Running");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn attach_shows_what_the_container_writes_and_types_into_it() {
    let stage = Stage::twin();
    let file = stage.pod("chat", &["echo"]);
    let text = fs::read_to_string(&file).unwrap() + "    stdin: true\n    stdinOnce: true\n";
    fs::write(&file, text).unwrap();
    let up = stage.up(&file, &["--once"]);
    up.wait_for("started");
    let mut child = verb(&stage, "attach", &["-i", "chat"]);
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"one\ntwo\n"[..]));
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn who_detaches_leaves_the_container_alone() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["lines", "0", "50"]), &[]);
    up.wait_for("| line 1");
    let mut child = verb(&stage, "attach", &["web"]);
    let mut some = [0; 20];
    child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    assert!(String::from_utf8_lossy(&some).contains("line"), "{some:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let known = up.said().len();
    eventually("it writes on", || (up.said().len() > known + 5).then_some(()));
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn stats_count_what_a_busy_container_uses() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("busy", &["spin"]), &[]);
    up.wait_for("started");
    let rows = plays::stats(&stage, &["busy"]);
    assert_eq!(
        (&rows[0]["pod"], &rows[0]["container"], &rows[0]["processes"]),
        (&json!("default/busy"), &json!("main"), &json!(1))
    );
    assert!(rows[0]["cpuMillicores"].as_u64().unwrap() > 10, "{rows}");
    assert!(rows[0]["memoryWorkingSetBytes"].as_u64().unwrap() > 0, "{rows}");
    let yaml = stage.porthole("stats", &["-o", "yaml"]);
    let yaml: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
    assert_eq!(yaml[0]["id"], rows[0]["id"]);
    let table = stage.porthole("stats", &[]);
    assert!(table.stdout.starts_with("POD") && table.stdout.contains("default/busy"), "{}", table.stdout);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn stats_that_are_watched_are_written_over_where_the_terminal_obeys_and_end_with_ctrl_c() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("busy", &["spin"]), &[]);
    up.wait_for("started");
    for (kind, columns, over) in [("xterm", 100, true), ("dumb", 101, false)] {
        let mut person = Person::at(kind, &stage, (columns, 30), "stats", &["--watch"]);
        eventually("a second look", || (person.seen().matches("default/busy").count() > 1).then_some(()));
        person.types("\x03");
        assert_eq!(person.code(), 0, "{}", person.seen());
        let seen = person.seen();
        let (looks, erased) = (seen.matches("POD ").count(), seen.matches("\x1b[H\x1b[J").count());
        assert_eq!((erased, seen.contains('\x1b')), (if over { looks } else { 0 }, over), "{seen:?}");
    }
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn a_forwarded_port_carries_bytes_both_ways_until_the_pod_is_gone() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["mirror"]), &[]);
    let line = up.wait_for("| port ");
    let remote = line.rsplit(' ').next().unwrap();
    let mut forward = verb(&stage, "port-forward", &["web", &format!("0:{remote}")]);
    let mut said = person::Lines::of(forward.stdout.take().unwrap());
    let line = said.next();
    let local = line.split(' ').next().unwrap().to_owned();
    assert!(line.ends_with(&format!("-> default/web port {remote}")), "{line}");
    let bytes: Vec<u8> = (0..8 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
    let mut stream = TcpStream::connect(&local).unwrap();
    let (mut writing, sent) = (stream.try_clone().unwrap(), bytes.clone());
    let writer = std::thread::spawn(move || {
        writing.write_all(&sent).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    writer.join().unwrap();
    assert!(back == bytes, "{} of {} bytes came back", back.len(), bytes.len());

    assert_eq!(stage.porthole("rm", &["--force", "web"]).code, 0);
    assert_eq!(forward.wait().unwrap().code(), Some(1));
    assert_eq!(up.wait().0, 0);
    assert_eq!(stage.porthole("port-forward", &["web", "80"]).code, 1);
    assert_eq!(stage.porthole("port-forward", &["web", "http"]).code, 2);
}

#[test]
fn a_pod_stopped_by_hand_stays_stopped_and_the_others_go_on() {
    let stage = Stage::twin();
    let (web, db) = (stage.pod("web", &["graceful", "bye"]), stage.pod("db", &["graceful", "bye"]));
    let up = stage.up(&web, &[db.to_str().unwrap()]);
    up.wait_for("default/web/main | ready");
    up.wait_for("default/db/main | ready");
    let stopped = stage.porthole("stop", &["web"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (0, "default/web stopped\n"), "{}", stopped.stderr);
    up.wait_for("default/web was stopped by hand and stays so");
    up.wait_for("default/web/main | bye");
    let state = |name: &str| {
        let all = stage.ps();
        let pod = all.as_array().unwrap().iter().find(|pod| pod["name"] == name).cloned();
        pod.map(|pod| pod["containers"][0]["state"].as_str().unwrap().to_owned())
    };
    assert_eq!((state("web").as_deref(), state("db").as_deref()), (Some("Exited"), Some("Running")));
    // What is so already is no error.
    assert_eq!(stage.porthole("stop", &["web"]).code, 0);
    assert_eq!(stage.porthole("logs", &["web"]).stdout, "ready\nbye\n");

    assert_eq!(stage.porthole("rm", &["web"]).code, 0);
    up.wait_for("default/web was removed by hand");
    assert_eq!(state("web"), None);
    let refused = stage.porthole("rm", &["db"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("stop it first, or use --force"), "{}", refused.stderr);
    assert_eq!(stage.porthole("rm", &["--force", "db"]).code, 0);
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("started again")), "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn a_pod_that_waits_to_be_started_again_is_not_once_it_is_stopped() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["exit", "3"]), &[]);
    up.wait_for("starts again in 10 s");
    assert_eq!(stage.porthole("stop", &["web"]).code, 0);
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("was stopped by hand")), "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("started again (2)")), "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn a_stubborn_pod_is_killed_when_the_grace_is_over() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["stubborn"]), &[]);
    up.wait_for("started");
    let begun = std::time::Instant::now();
    let stopped = stage.porthole("stop", &["--grace", "1", "web"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    // The pod's own grace period is 20 s.
    assert!(begun.elapsed() < Duration::from_secs(18), "{:?}", begun.elapsed());
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("ended with code 137")), "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn without_an_agent_the_verbs_do_it_themselves() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    up.kill();
    plays::without_an_agent_the_verbs_do_it_themselves(&stage);
}

#[test]
fn a_shell_without_an_agent_keeps_nobody_else_waiting() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["graceful", "bye"]);
    let up = stage.up(&file, &[]);
    up.wait_for("| ready");
    up.kill();
    let mut shell = verb(&stage, "exec", &["-i", "web", "--", "./fixture", "echo"]);
    let mut said = person::Lines::of(shell.stdout.take().unwrap());
    let mut stdin = shell.stdin.take().unwrap();
    stdin.write_all(b"one\n").unwrap();
    assert_eq!(said.next(), "one");
    let up = stage.up(&file, &[]);
    up.wait_for("taken up again");
    stdin.write_all(b"two\n").unwrap();
    assert_eq!(said.next(), "two");
    drop(stdin);
    assert_eq!(shell.wait().unwrap().code(), Some(0));
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn a_lock_that_is_held_in_silence_is_told_with_its_owner() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let pid = fs::read_to_string(stage.root().join("lock.pid")).unwrap();
    let signal =
        |name: &str| assert!(Command::new("kill").args([name, pid.trim()]).status().unwrap().success());
    signal("-STOP");
    let silent = stage.porthole("stop", &["web"]);
    signal("-CONT");
    assert_eq!(silent.code, 3, "{}", silent.stderr);
    assert!(
        silent.stderr.contains(&format!("process {}, which does not answer", pid.trim())),
        "{}",
        silent.stderr
    );
    up.kill();

    let lock = os::file::Lock::try_acquire(&stage.root().join("lock")).unwrap().expect("nobody has it");
    let silent = stage.porthole("exec", &["web", "--", "./fixture", "print", "x"]);
    assert_eq!(silent.code, 3, "{}", silent.stderr);
    assert!(silent.stderr.contains(&format!("process {}", std::process::id())), "{}", silent.stderr);
    drop(lock);
    assert_eq!(stage.porthole("rm", &["--force", "web"]).code, 0);
    stage.assert_a_note_is_left();
}

#[test]
fn a_name_that_several_pods_have_is_refused_with_all_of_them() {
    let stage = Stage::twin();
    let first = stage.pod("web", &["graceful", "bye"]);
    let text = fs::read_to_string(&first).unwrap();
    let second = stage.file("second.yaml", &text);
    let up = stage.up(&first, &[second.to_str().unwrap()]);
    eventually("both run", || {
        let all = stage.ps();
        let running = |pod: &&Value| pod["containers"][0]["state"] == "Running";
        (all.as_array().unwrap().iter().filter(running).count() == 2).then_some(())
    });
    let refused = stage.porthole("stop", &["web"]);
    assert_eq!(refused.code, 1);
    let uids: Vec<String> =
        stage.ps().as_array().unwrap().iter().map(|pod| pod["uid"].as_str().unwrap().to_owned()).collect();
    assert!(uids.iter().all(|uid| refused.stderr.contains(uid)), "{}", refused.stderr);
    assert_eq!(stage.porthole("stop", &[&uids[0]]).code, 0);
    let id = stage.ps();
    let running = id.as_array().unwrap().iter().find(|pod| pod["uid"] == uids[1].as_str()).unwrap();
    let id = running["containers"][0]["id"].as_str().unwrap();
    let said = stage.porthole("exec", &[&id[..12], "--", "./fixture", "print", "here"]);
    assert_eq!((said.code, said.stdout.trim()), (0, "here"), "{}", said.stderr);
    let unknown = stage.porthole("exec", &["nobody", "--", "x"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("no pod nobody; there is default/web"), "{}", unknown.stderr);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

/// The most memory that a process has used so far, in kibibytes.
fn peak_memory(pid: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_slow_reader_of_64_mib_costs_the_agent_next_to_nothing() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    // What an exec needs at all is known afterwards.
    assert_eq!(stage.porthole("exec", &["web", "--", "true"]).code, 0);
    let pid = fs::read_to_string(stage.root().join("lock.pid")).unwrap().trim().to_owned();
    let before = peak_memory(&pid);
    let mut child = verb(&stage, "exec", &["web", "--", "head", "-c", "67108864", "/dev/zero"]);
    let mut output = child.stdout.take().unwrap();
    let (mut read, mut some) = (0, vec![0; 1 << 20]);
    output.read_exact(&mut some[..1]).unwrap();
    // Nobody reads now: whatever would pile up does so until nothing moves any more.
    let written = || {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        io.lines().find(|line| line.starts_with("wchar:")).unwrap().to_owned()
    };
    let mut last = written();
    eventually("everything stands still", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = written();
        (std::mem::replace(&mut last, now.clone()) == now).then_some(())
    });
    loop {
        match output.read(&mut some).unwrap() {
            0 => break,
            more => read += more,
        }
    }
    assert_eq!((read + 1, child.wait().unwrap().code()), (64 << 20, Some(0)));
    let grown = peak_memory(&pid) - before;
    assert!(grown < 8 << 10, "the agent grew by {grown} KiB");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn a_client_that_talks_nonsense_is_told_and_the_agent_goes_on() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let socket = stage.root().join("run/admin.sock");
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let version = holder::protocol::VERSION;
    for nonsense in [
        &b"\xff\xff\xff\xffGET / HTTP/1.1"[..],
        &[2, 0, 0, 0, 99, b'x'],
        &[3, 0, 0, 0, version, b'{', b'}'],
        &[0, 0, 0, 0],
    ] {
        let mut client = UnixStream::connect(&socket).unwrap();
        client.write_all(nonsense).unwrap();
        let answer: Value = holder::protocol::receive(&mut client).unwrap();
        assert_eq!(answer["Refused"]["why"], "Malformed", "{answer}");
        let rest = client.read(&mut [0]);
        assert!(matches!(rest, Ok(0) | Err(_)), "{rest:?}");
    }
    // One that says half a frame and goes.
    UnixStream::connect(&socket).unwrap().write_all(&[200, 0, 0, 0, version]).unwrap();
    assert_eq!(stage.porthole("exec", &["web", "--", "./fixture", "print", "x"]).code, 0);
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn more_clients_than_there_is_room_for_are_sent_away() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let socket = stage.root().join("run/admin.sock");
    let guests: Vec<_> =
        (0..admin::server::MOST_CLIENTS).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let busy = stage.porthole("stop", &["web"]);
    assert_eq!(busy.code, 3, "{}", busy.stderr);
    assert!(busy.stderr.contains("clients are being served"), "{}", busy.stderr);
    drop(guests);
    eventually("there is room again", || {
        (stage.porthole("exec", &["web", "--", "true"]).code == 0).then_some(())
    });
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn a_client_killed_in_the_middle_takes_its_command_along() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("| ready");
    let mut child = verb(&stage, "exec", &["web", "--", "./fixture", "lines", "0", "10"]);
    let mut said = person::Lines::of(child.stdout.take().unwrap());
    assert_eq!(said.next(), "line 1");
    assert_eq!(stage.workers().len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("only the container is left", || (stage.workers().len() == 1).then_some(()));
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn every_verb_has_an_example() {
    for verb in ["exec", "attach", "stats", "port-forward", "stop", "rm"] {
        let help =
            Command::new(env!("CARGO_BIN_EXE_porthole")).args([verb, "--help"]).stdin(Stdio::null()).output();
        let text = String::from_utf8(help.unwrap().stdout).unwrap();
        assert!(text.contains(&format!("Examples:\n  porthole {verb}")), "{text}");
    }
}
