//! Programs run inside containers.

use std::time::Duration;

use cri::api::*;
use streaming::Streams;
use streaming::client::{Dialled, Remote};
use streaming::protocol::{Agreed, Codec, Version};
use tonic::Code;

use crate::world::{World, eventually};

/// Whether a process with this among its arguments runs on this machine.
fn runs(argument: &str) -> bool {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let words = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    words.into_iter().any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
}

fn exec(id: &str, words: &[&str], timeout: i64) -> ExecSyncRequest {
    let cmd = words.iter().map(|word| (*word).to_owned()).collect();
    ExecSyncRequest { container_id: id.to_owned(), cmd, timeout }
}

// proves: HP-23 twin
#[test]
fn a_program_says_what_it_says_and_ends_as_it_ends() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let done = world.ok(world.runtime().exec_sync(exec(&id[..12], &["./fixture", "print", "hello"], 0)));
    assert_eq!((done.stdout.as_slice(), done.exit_code), (b"hello\n".as_slice(), 0));
    let done = world.ok(world.runtime().exec_sync(exec(&id, &["./fixture", "stderr", "oh"], 0)));
    assert_eq!((done.stderr.as_slice(), done.stdout.len()), (b"oh\n".as_slice(), 0));
    assert_eq!(world.ok(world.runtime().exec_sync(exec(&id, &["./fixture", "exit", "7"], 0))).exit_code, 7);
    world.refused(world.runtime().exec_sync(exec(&id, &["./no-such-program"], 0)), Code::InvalidArgument);
    // Longer than a header may be.
    let long = "x".repeat(20_000);
    let said = world.refused(world.runtime().exec_sync(exec(&id, &[&long], 0)), Code::InvalidArgument);
    assert!(said.contains("xxx … xxx"), "{said}");
    world.end();
}

// proves: HP-23 twin
#[test]
fn a_program_that_takes_too_long_is_killed_and_the_caller_is_told_why() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let said = world.refused(
        world.runtime().exec_sync(exec(&id, &["./fixture", "sleep", "60417"], 1)),
        Code::DeadlineExceeded,
    );
    assert!(said.contains("did not end within its 1 seconds"), "{said}");
    eventually("the killed program is gone", || (!runs("60417")).then_some(()));
    world.end();
}

// proves: HP-23 twin
#[test]
fn a_url_works_once_and_carries_a_programs_words() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let cmd = ["./fixture", "print", "hello"].map(String::from).to_vec();
    let ask = ExecRequest { container_id: id, cmd, stdout: true, ..Default::default() };
    let url = world.ok(world.runtime().exec(ask)).url;
    assert!(url.starts_with("http://127.0.0.1:") && url.contains("/exec/"), "{url}");
    assert!(answer(&url).starts_with("HTTP/1.1 101"), "the first one is served");
    assert!(answer(&url).starts_with("HTTP/1.1 404"), "and nobody else");
    let ask = PortForwardRequest { pod_sandbox_id: pod, port: vec![] };
    assert!(world.ok(world.runtime().port_forward(ask)).url.contains("/portforward/"));
    world.end();
}

// proves: HP-23 twin
#[test]
fn a_program_that_never_reads_ends_after_its_client_has_left() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    for (number, how) in
        [Agreed::Command(Version::V4), Agreed::Channels(Version::V5, Codec::Binary)].into_iter().enumerate()
    {
        let seconds = (60_418 + number).to_string();
        let cmd = ["./fixture", "sleep", &seconds].map(String::from).to_vec();
        let (container_id, streams) =
            (id.clone(), Streams { stdin: true, stdout: true, ..Streams::default() });
        let ask = ExecRequest { container_id, cmd, stdin: true, stdout: true, ..Default::default() };
        let url = world.ok(world.runtime().exec(ask)).url;
        world.wait(async {
            let remote = Remote::open(Dialled::to(&url).await.unwrap(), streams, how).await.unwrap();
            let much = vec![7; 64 << 20];
            let told = tokio::time::timeout(Duration::from_secs(2), remote.speaker().stdin(&much)).await;
            assert!(told.is_err(), "{how:?}: nobody reads that");
            eventually("it runs", || runs(&seconds).then_some(()));
        });
        eventually("its end after its client's", || (!runs(&seconds)).then_some(()));
    }
    world.end();
}

/// How a server answers somebody who wants to stream over WebSocket.
fn answer(url: &str) -> String {
    use std::io::{Read, Write};
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    let head = format!(
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = [0; 64];
    let count = stream.read(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[test]
fn nothing_is_run_in_what_does_not_run() {
    let world = World::new();
    let pod = world.pod("web");
    let created = world.create(&pod, world.config("main", &["pause"]));
    let sync = exec(&created, &["./fixture", "exit", "0"], 0);
    world.refused(world.runtime().exec_sync(sync.clone()), Code::FailedPrecondition);
    let ask =
        ExecRequest { container_id: created.clone(), cmd: sync.cmd, stdout: true, ..Default::default() };
    world.refused(world.runtime().exec(ask), Code::FailedPrecondition);
    let ask = AttachRequest { container_id: created, stdout: true, ..Default::default() };
    world.refused(world.runtime().attach(ask), Code::FailedPrecondition);
    world.ok(world.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: pod.clone() }));
    let ask = PortForwardRequest { pod_sandbox_id: pod, port: vec![80] };
    world.refused(world.runtime().port_forward(ask), Code::FailedPrecondition);
    world.end();
}
