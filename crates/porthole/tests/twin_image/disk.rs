//! ls, inspect, rm, gc, fsck: what is here, who uses it, and how it goes.

use std::fs::File;
use std::time::{Duration, SystemTime};

use testbed::image::{ImageBuilder, Layer};

use super::desk::{Desk, bytes_in};
use super::stage::{Stage, eventually};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn ls_and_inspect_show_what_is_here() {
    let desk = Desk::new();
    assert_eq!(desk.json(&["ls"])["images"], serde_json::json!([]));
    let image = Desk::image("one");
    let name = desk.pull(&image, "try/app:1");
    let table = desk.ok(&["ls"]).stdout;
    let heading: Vec<_> = table.lines().next().expect("a heading").split_whitespace().collect();
    assert_eq!(heading, ["REPOSITORY", "TAG", "ID", "SIZE", "PLATFORM", "PULLED", "USED-BY"]);
    let row: Vec<_> = table.lines().nth(1).expect("a row").split_whitespace().collect();
    let repository = name.trim_end_matches(":1");
    assert_eq!((row[0], row[1]), (repository, "1"), "{table}");
    let listed = desk.json(&["ls"])["images"][0].clone();
    assert_eq!(listed["names"], serde_json::json!([name]));
    assert_eq!(listed["repoDigests"], serde_json::json!([format!("{repository}@{}", image.digest())]));
    assert_eq!(listed["platform"], serde_json::json!({"os": "linux", "architecture": "amd64"}));
    let compressed = listed["compressedBytes"].as_u64().expect("a number");
    let unpacked = listed["unpackedBytes"].as_u64().expect("a number");
    assert!(unpacked >= 3000 && compressed < unpacked, "{listed}");
    assert_eq!(listed["usedBy"], serde_json::json!([]));
    assert!(listed["pulled"].as_str().is_some_and(|time| time.starts_with("20") && time.ends_with('Z')));
    let inspected = desk.json(&["inspect", &name])["images"][0].clone();
    assert_eq!(inspected["layers"].as_array().map(Vec::len), Some(2));
    assert_eq!(inspected["env"], serde_json::json!(["WORD=one"]));
    let text = desk.ok(&["inspect", &name]).stdout;
    assert!(text.contains(image.digest()) && text.contains("/bin/app"), "{text}");
    desk.run(&["inspect", "example.com/none:1"]).refused(1, &["example.com/none:1 is not on this host"]);
}

#[test]
fn rm_removes_names_and_with_the_last_one_the_image() {
    let desk = Desk::new();
    let one = desk.pull(&Desk::image("one"), "try/one:1");
    let same = desk.pull(&Desk::image("one"), "try/same:1");
    let two = desk.pull(&Desk::image("two"), "try/two:1");
    let full = desk.json(&["ls"])["usage"]["bytes"].as_u64().expect("a number");
    let removed = desk.json(&["rm", &one])["removed"][0].clone();
    assert_eq!(
        (removed["untagged"].clone(), removed["deleted"].clone()),
        (serde_json::json!([one]), serde_json::Value::Null)
    );
    let removed = desk.json(&["rm", &same])["removed"][0].clone();
    assert!(removed["deleted"].is_string() && removed["freedBytes"].as_u64() > Some(0), "{removed}");
    assert_eq!(desk.names(), [two.as_str()]);
    // What it shared with another image is still there.
    desk.ok(&["fsck"]);
    desk.run(&["rm", &one]).refused(1, &["no image", &one]);
    let all = desk.run(&["rm", &one, &two]);
    assert_eq!(all.code, 1, "one of them is not there");
    assert_eq!(desk.names(), Vec::<String>::new(), "the other went all the same");
    let left = desk.json(&["ls"])["usage"]["bytes"].as_u64().expect("a number");
    assert!(left < full && left < 100, "{left} of {full}");
    assert_eq!(bytes_in(&desk.root().join("images/blobs")), 0);
}

#[test]
fn rm_and_gc_leave_what_a_container_uses_and_name_the_pod() {
    let desk = Desk::new();
    let stage = Stage::twin();
    let fixture = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE is set by the gate");
    let layer = Layer::new().host_file("bin/fixture", fixture, 0o755).expect("a layer");
    let image =
        ImageBuilder::new("linux", "amd64").layer(layer).entrypoint(["/bin/fixture"]).build().expect("made");
    let name = desk.push(&image, "try/app:1");
    let file = stage.pod("web", &[]);
    let text = std::fs::read_to_string(&file).expect("written");
    let text = text
        .replace("dir:app", &format!("{name:?}"))
        .replace("command: [\"./fixture\"]", "args: [stubborn]")
        .replace("PeriodSeconds: 20", "PeriodSeconds: 0");
    std::fs::write(&file, text).expect("written");
    let up = stage.up(&file, &[]);
    up.wait_for("started");
    let root = stage.root();
    let verb = |words: &[&str]| desk.run_at(&root, words);
    verb(&["rm", &name]).refused(1, &["is used by default/web"]);
    verb(&["rm", "--force", &name]).refused(1, &["default/web"]);
    let listed = verb(&["ls", "-o", "json"]).json();
    assert_eq!(listed["images"][0]["usedBy"], serde_json::json!(["default/web"]));
    assert!(verb(&["ls"]).stdout.contains("default/web"));
    assert_eq!(verb(&["gc", "--all", "-o", "json"]).json()["images"], serde_json::json!([]));
    assert_eq!(verb(&["ls", "-o", "json"]).json()["images"].as_array().map(Vec::len), Some(1));
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    eventually("the image is free", || (verb(&["rm", &name]).code == 0).then_some(()));
    assert_eq!(verb(&["ls", "-o", "json"]).json()["images"], serde_json::json!([]));
    stage.assert_nothing_left();
}

#[test]
fn gc_frees_what_nobody_uses_and_says_how_much() {
    let desk = Desk::new();
    let name = desk.pull(&Desk::image("one"), "try/one:1");
    let kept = desk.json(&["gc", "--high", "100", "--low", "100"]);
    assert_eq!((kept["images"].clone(), desk.names()), (serde_json::json!([]), vec![name.clone()]));
    // Too young for the thresholds, whatever the disk is like.
    let kept = desk.json(&["gc", "--high", "0", "--low", "0"]);
    assert_eq!(kept["images"], serde_json::json!([]));
    let freed = desk.json(&["gc", "--high", "0", "--low", "0", "--min-age", "0s"]);
    assert_eq!(freed["images"][0]["names"], serde_json::json!([name]));
    assert!(freed["freedBytes"].as_u64() > Some(3000), "{freed}");
    assert_eq!(bytes_in(&desk.root().join("images/blobs")) + bytes_in(&desk.root().join("images/layers")), 0);
    let name = desk.pull(&Desk::image("two"), "try/two:1");
    let said = desk.ok(&["gc", "--all"]).stdout;
    assert!(said.contains(&name) && said.contains("freed ") && !said.contains("wanted"), "{said}");
    assert_eq!(desk.json(&["gc", "--all"])["missingBytes"], 0);
    desk.run(&["gc", "--high", "101"]).refused(2, &["101"]);
    desk.run(&["gc", "--high", "50", "--low", "60"]).refused(2, &["--low"]);
    desk.run(&["gc", "--min-age", "soon"]).refused(2, &["wanted a number and s, m, h or d"]);
}

#[test]
fn gc_frees_what_nobody_used_for_so_long_however_empty_the_disk_is() {
    let desk = Desk::new();
    let (old, new) =
        (desk.pull(&Desk::image("old"), "try/old:1"), desk.pull(&Desk::image("new"), "try/new:1"));
    let id = desk.json(&["inspect", &old])["images"][0]["id"].as_str().expect("an id").to_owned();
    let used = File::create(desk.root().join("images/used").join(&id["sha256:".len()..])).expect("made");
    used.set_modified(SystemTime::now() - 8 * DAY).expect("eight days ago");
    // The disk has room enough for all of them.
    let gc = |most: &str| desk.json(&["gc", "--high", "100", "--low", "100", "--max-age", most]);
    assert_eq!((gc("9d")["images"].clone(), desk.names().len()), (serde_json::json!([]), 2));
    let freed = gc("7d");
    assert_eq!(freed["images"], serde_json::json!([{"id": id, "names": [old]}]));
    assert_eq!(desk.names(), [new]);
    desk.ok(&["fsck"]);
    desk.run(&["gc", "--max-age", "old"]).refused(2, &["wanted a number and s, m, h or d"]);
    desk.run(&["gc", "--all", "--max-age", "7d"]).refused(2, &["cannot be used with"]);
}

#[test]
fn fsck_finds_damage_repairs_it_and_the_next_pull_heals() {
    let desk = Desk::new();
    let image = Desk::image("one");
    let name = desk.pull(&image, "try/one:1");
    assert_eq!(desk.json(&["fsck"])["findings"], serde_json::json!([]));
    let layer = image.blobs().iter().find(|(_, bytes)| bytes.starts_with(&[0x1f, 0x8b])).expect("a layer").0;
    let mut bytes = std::fs::read(desk.blob(layer)).expect("stored");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(desk.blob(layer), bytes).expect("written");
    let found = desk.run(&["fsck", "-o", "json"]);
    assert_eq!(found.code, 1, "{}", found.stderr);
    let findings = found.json()["findings"].clone();
    assert!(findings.to_string().contains(layer.trim_start_matches("sha256:")), "{findings}");
    let text = desk.run(&["fsck"]);
    assert!(text.code == 1 && text.stdout.contains(&layer["sha256:".len()..][..12]), "{}", text.stdout);
    let repaired = desk.run(&["fsck", "--repair"]);
    assert_eq!(repaired.code, 0, "{}{}", repaired.stdout, repaired.stderr);
    // What was good is still here: only the damaged layer moves again.
    desk.registry.clear_requests();
    desk.ok(&["pull", &name]);
    assert_eq!(desk.asked("GET", "blobs").len(), 1, "{:?}", desk.registry.requests());
    desk.ok(&["save", "-o", "x.tar", &name]);
    assert_eq!(desk.json(&["fsck"])["findings"], serde_json::json!([]));
}
