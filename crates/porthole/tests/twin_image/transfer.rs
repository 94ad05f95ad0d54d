//! save and load: formats, pipes, names.

use std::process::Stdio;

use super::desk::{Desk, Ended};

const FORMATS: [&str; 3] = ["oci-archive", "oci-dir", "docker-archive"];

#[test]
fn what_is_saved_is_loaded_elsewhere_under_its_name() {
    let desk = Desk::new();
    let (one, two) = (Desk::image("one"), Desk::image("two"));
    let names = [desk.pull(&one, "try/one:1"), desk.pull(&two, "try/two:1")];
    for format in FORMATS {
        let saved =
            desk.ok(&["save", "--format", format, "-o", format, "--json", &names[0], &names[1]]).json();
        assert_eq!(saved["format"], format);
        assert_eq!(saved["images"][1]["name"], names[1].as_str());
        let other = Desk::new();
        let file = desk.path(format).display().to_string();
        let loaded = other.json(&["load", &file]);
        assert_eq!(
            (loaded["format"].as_str(), loaded["images"].as_array().map(Vec::len)),
            (Some(format), Some(2))
        );
        assert_eq!(other.names(), names);
        let inspected = other.json(&["inspect", &names[0]])["images"][0].clone();
        assert_eq!(inspected["id"], desk.json(&["inspect", &names[0]])["images"][0]["id"]);
        assert_eq!(inspected["entrypoint"], serde_json::json!(["/bin/app"]));
        if format != "docker-archive" {
            assert_eq!(inspected["digest"], one.digest());
        }
        assert_eq!(other.ok(&["fsck"]).code, 0);
    }
}

#[test]
fn archives_go_through_pipes() {
    let desk = Desk::new();
    let name = desk.pull(&Desk::image("one"), "try/one:1");
    for format in ["oci-archive", "docker-archive"] {
        let other = Desk::new();
        let mut save = desk.start(&["save", "--format", format, "-o", "-", &name]);
        let pipe = Stdio::from(save.stdout.take().expect("a pipe"));
        let load = other.command(&["load", "-"]).stdin(pipe).spawn().expect("started");
        let loaded = Ended::wait(load);
        assert_eq!((loaded.code, Ended::wait(save).code), (0, 0), "{}", loaded.stderr);
        assert_eq!(other.names(), [name.as_str()]);
    }
}

#[test]
fn an_image_without_a_name_gets_one_or_is_known_by_its_id() {
    let desk = Desk::new();
    Desk::image("one").write_oci_archive(desk.path("one.tar")).expect("written");
    let loaded = desk.json(&["load", "one.tar"])["images"][0].clone();
    assert_eq!(loaded["names"], serde_json::json!([]));
    let id = loaded["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.json(&["inspect", &id])["images"][0]["id"], id.as_str());
    assert!(desk.ok(&["ls"]).stdout.contains("<none>"));
    desk.ok(&["load", "-t", "example.com/try/app:1", "one.tar"]);
    assert_eq!(desk.names(), ["example.com/try/app:1"]);
    // By the start of its id too, as docker does it.
    let short = &id["sha256:".len()..][..12];
    assert_eq!(desk.json(&["inspect", short])["images"][0]["id"], id.as_str());
    let two = Desk::image("two");
    two.write_oci_archive(desk.path("two.tar")).expect("written");
    desk.ok(&["save", "-o", "both.tar", "example.com/try/app:1", &id]);
}

#[test]
fn what_is_no_archive_says_what_was_wanted() {
    let desk = Desk::new();
    std::fs::write(desk.path("text"), "no archive, only a long line of text ".repeat(40)).expect("written");
    desk.run(&["load", "text"]).refused(2, &["text", "tar"]);
    desk.run(&["load", "none.tar"]).refused(2, &["none.tar"]);
    std::fs::create_dir(desk.path("dir")).expect("made");
    std::fs::write(desk.path("dir/letter"), "dear").expect("written");
    desk.run(&["load", "dir"])
        .refused(2, &["neither an OCI layout (index.json) nor a Docker archive", "letter"]);
    desk.run(&["save", "-o", "x.tar", "example.com/none:1"])
        .refused(1, &["example.com/none:1", "is not on this host"]);
    assert!(!desk.path("x.tar").exists());
    let name = desk.pull(&Desk::image("one"), "try/one:1");
    desk.run(&["save", "--format", "oci-dir", "-o", "dir", &name]).refused(1, &["is not an OCI layout"]);
    desk.run(&["save", "--format", "oci-dir", "-o", "-", &name]).refused(2, &["standard output"]);
    desk.run(&["save", "--format", "zip", "-o", "x", &name]).refused(2, &["oci-archive"]);
    // A damaged archive changes nothing.
    Desk::image("two").write_oci_archive(desk.path("two.tar")).expect("written");
    let mut bytes = std::fs::read(desk.path("two.tar")).expect("read");
    let at = bytes.windows(5).position(|window| window == [0x1f, 0x8b, 8, 0, 0]).expect("a layer");
    bytes[at + 20] ^= 0x40;
    std::fs::write(desk.path("two.tar"), bytes).expect("written");
    desk.run(&["load", "two.tar"]).refused(1, &["damaged"]);
    assert_eq!(desk.names(), [name]);
    desk.ok(&["fsck"]);
}
