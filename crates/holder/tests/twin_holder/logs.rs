//! Logs that are turned over, by the holder or by somebody else.

use holder::log::{Entry, files};
use holder::protocol::{Launch, Refusal, Rotate};

use crate::support::{World, eventually, refusal};

fn texts(world: &World, id: &str) -> Vec<String> {
    let files = files(&world.path(&format!("{id}.log"))).unwrap();
    let bytes: Vec<u8> = files.iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
    let lines = bytes.split_inclusive(|b| *b == b'\n');
    lines.map(|line| String::from_utf8_lossy(Entry::parse(line).unwrap().text).into_owned()).collect()
}

#[test]
fn a_log_is_turned_over_at_its_limit_and_so_many_are_kept() {
    let world = World::lasting();
    let mut client = world.client();
    let script = "i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done";
    for (id, kept) in [("all", 1000), ("few", 3)] {
        let rotate = Some(Rotate { max_bytes: 2000, files: kept });
        client.start(Launch { rotate, ..world.shell(id, script) }).unwrap();
        assert_eq!(client.wait(id).unwrap().code, 0);
    }
    assert_eq!(texts(&world, "all"), (0..1000).map(|i| format!("line {i}")).collect::<Vec<_>>());
    let few = files(&world.path("few.log")).unwrap();
    assert_eq!(few.len(), 3, "{few:?}");
    for file in &few {
        assert!(std::fs::metadata(file).unwrap().len() <= 2000);
    }
    // What is left is the end, without a gap.
    let texts = texts(&world, "few");
    let first = 1000 - texts.len();
    assert_eq!(texts, (first..1000).map(|i| format!("line {i}")).collect::<Vec<_>>());
}

#[test]
fn a_log_that_a_kubelet_renamed_goes_on_in_a_new_file() {
    let world = World::lasting();
    let mut client = world.client();
    let script = "while read line; do echo \"got $line\"; done";
    client.start(Launch { stdin: true, ..world.shell("a", script) }).unwrap();
    let (_reader, mut writer) = world.client().attach("a", true).unwrap().split();
    writer.stdin(b"one\n").unwrap();
    eventually("it is there", || world.log("a").contains("got one"));
    let aside = world.path("a.log.20261115-134255");
    std::fs::rename(world.path("a.log"), &aside).unwrap();
    writer.stdin(b"two\n").unwrap();
    let aside_text = || std::fs::read_to_string(&aside).unwrap();
    eventually("the renamed one is still written", || aside_text().contains("got two"));
    assert!(!world.path("a.log").exists());
    client.reopen_log("a").unwrap();
    assert!(world.path("a.log").exists());
    writer.stdin(b"three\n").unwrap();
    eventually("the new one is written", || world.log("a").contains("got three"));
    assert!(!aside_text().contains("three") && !world.log("a").contains("two"));
    assert_eq!(refusal(client.reopen_log("b")), Refusal::Unknown);
    world.end("a");
    assert_eq!(refusal(client.reopen_log("a")), Refusal::State);
}
