//! An agent of version 1 before a holder of version 2.

use std::io::{Read, Write};

use holder::exit::ExitReason;
use os::channel::Connection;

use crate::support::{World, eventually};

/// Speaks in bytes, as that version did.
struct Old(Connection);

impl Old {
    fn ask(&mut self, json: &str) -> (u8, String) {
        let length = u32::try_from(json.len() + 1).unwrap().to_le_bytes();
        self.0.write_all(&[&length[..], &[1], json.as_bytes()].concat()).unwrap();
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut body).unwrap();
        (body[0], String::from_utf8(body[1..].to_vec()).unwrap())
    }
}

#[test]
fn an_agent_of_version_1_starts_looks_at_and_stops_a_container() {
    let world = World::lasting();
    let mut old = Old(Connection::connect(&world.endpoint).unwrap());
    let (version, hello) = old.ask("\"Hello\"");
    // Version 1 understands the versions 0 to 2.
    assert_eq!(version, 2);
    assert_eq!(hello, format!(r#"{{"Hello":{{"version":2,"pid":{}}}}}"#, std::process::id()));
    let (log, exit) = (world.path("a.log"), world.path("a.exit.json"));
    let start = format!(
        r#"{{"Start":{{"id":"a","job":{{"parent":"{}","id":"a"}},"program":"/bin/sh","argv":["sh","-c","echo on; head -c 100M /dev/zero | tail"],"command_line":"","env":[["PATH","/usr/bin:/bin"]],"cwd":"/","overlay":null,"limits":{{"memory_bytes":20971520,"cpu_millis":null,"processes":null}},"log":"{}","exit":"{}"}}}}"#,
        world.job_parent,
        log.display(),
        exit.display()
    );
    let (_, started) = old.ask(&start);
    // Nothing but the process: when it was started that version learns from the list.
    let pid = started.strip_prefix(r#"{"Started":{"pid":"#).and_then(|rest| rest.strip_suffix("}}"));
    assert!(pid.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{started}");
    eventually("it runs", || world.log("a").contains("F on"));
    let (_, ended) = old.ask(r#"{"Wait":{"id":"a"}}"#);
    // Killed for its memory, which that version has no word for.
    assert!(ended.contains(r#""code":137"#) && ended.contains(r#""reason":"Error""#), "{ended}");
    assert_eq!(world.record("a").unwrap().reason, ExitReason::OomKilled);
    let (_, list) = old.ask("\"List\"");
    assert!(list.starts_with(r#"{"Containers":[{"id":"a","pid":"#) && !list.contains("OOM"), "{list}");
    assert_eq!(old.ask("\"Leave\"").1, "\"Left\"");
    drop(old);
    world.join();
}
