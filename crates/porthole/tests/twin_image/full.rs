//! A disk that is full in the middle of a pull, a load or a build: what failed is said with the same code, nothing stays
//! half, and with room the same is right.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testbed::disk::{Disk, Unsynced};
use testbed::image::{Image, ImageBuilder, Layer};

use super::desk::{Desk, Ended};
use super::registry::noise;

/// What of the disk is left to a verb.
const ROOM: u64 = 2 << 20;
const LENGTH: usize = 6 << 20;
const HINT: &str = "`porthole image gc`";

/// A store on a disk of its own, and somebody else's file beside it.
struct Cramped {
    desk: Desk,
    disk: Disk,
}

// === impl Cramped ===

impl Cramped {
    fn new() -> Cramped {
        let disk = Disk::new(Unsynced::Zeros).expect("a disk");
        Cramped { desk: Desk::new(), disk }
    }

    fn root(&self) -> PathBuf {
        self.disk.path().join("root")
    }

    fn filler(&self) -> PathBuf {
        self.disk.path().join("filler")
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.desk.run_at(&self.root(), words)
    }

    /// Also what the file system keeps back for root: that is who we are.
    fn fill(&self, room: u64) {
        let mut filler = File::create(self.filler()).expect("made");
        let piece = vec![1; 64 << 10];
        while filler.write_all(&piece).is_ok() {}
        let length = filler.metadata().expect("it is there").len();
        filler.set_len(length - room).expect("shortened");
        os::file::sync_disk(self.disk.path()).expect("synced");
    }

    /// Everything that is unpacked, half or whole.
    fn unpacked(&self) -> Vec<PathBuf> {
        let entries = |room| std::fs::read_dir(self.root().join("images").join(room)).expect("a room");
        let all = ["layers", "flat"].into_iter().flat_map(entries);
        all.map(|entry| entry.expect("it is there").path()).collect()
    }

    /// The kinds of what is wrong with the store.
    fn findings(&self) -> Vec<Value> {
        let found = self.run(&["fsck", "-o", "json"]).json()["findings"].clone();
        found.as_array().expect("a list").iter().map(|each| each["kind"].clone()).collect()
    }

    /// Without room it ends and says so, and nothing stays half. With room the same is right.
    fn assert_wants_room(&self, words: &[&str], said: &[&str], data: &[u8]) {
        self.fill(ROOM);
        self.run(words).refused(3, said);
        assert_eq!(self.listed(), json!([]));
        assert_eq!(self.unpacked(), [] as [&Path; 0], "something is half there");
        assert!(self.findings().iter().all(|kind| kind == "orphan"), "{:?}", self.findings());
        std::fs::remove_file(self.filler()).expect("removed");
        self.assert_brings(words, data);
    }

    fn assert_brings(&self, words: &[&str], data: &[u8]) {
        let ended = self.run(words);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert_eq!(self.findings(), [] as [Value; 0]);
        let mut found = self.unpacked().into_iter().map(|dir| std::fs::read(dir.join("files/data")));
        assert!(found.any(|found| found.is_ok_and(|found| found == data)), "it is not what was wanted");
    }

    fn listed(&self) -> Value {
        self.run(&["ls", "-o", "json"]).json()["images"].clone()
    }
}

/// An image of one large file; whole, it is none that can be stacked.
fn image(data: &[u8], whole: bool) -> Image {
    let image = ImageBuilder::new("linux", "amd64").layer(Layer::new().file("data", data, 0o644));
    let image = if whole { image.layer(Layer::new().hard_link("link", "data")) } else { image };
    image.build().expect("made")
}

/// As many bytes that are few while they are packed.
fn small() -> Vec<u8> {
    "the same again ".repeat(LENGTH / 15).into_bytes()
}

#[test]
fn a_pull_onto_a_full_disk_says_so_and_leaves_nothing_half() {
    // The first has no room for its blob, the others for their files.
    for (data, whole) in [(noise(LENGTH), false), (small(), false), (small(), true)] {
        let cramped = Cramped::new();
        let name = cramped.desk.push(&image(&data, whole), "try/app:1");
        cramped.assert_wants_room(&["pull", &name], &["write ", "No space left", HINT], &data);
    }
}

/// An archive of the image, packed as a whole if that is asked for; its name.
fn archive(desk: &Desk, data: &[u8], packed: bool) -> &'static str {
    image(data, false).write_oci_archive(desk.path("app.tar")).expect("written");
    if !packed {
        return "app.tar";
    }
    let status = Command::new("gzip").arg("--fast").arg(desk.path("app.tar")).status();
    assert!(status.expect("gzip").success());
    "app.tar.gz"
}

/// It was wrong use, or an image that cannot be had, depending on where the room ended.
#[test]
fn a_load_onto_a_full_disk_says_so_as_a_pull_does() {
    // The first has no room for its blob, the second for the archive without its gzip, the third for its files.
    for (data, packed, written) in [
        (noise(LENGTH), false, "write "),
        (noise(LENGTH), true, "write a copy of "),
        (small(), false, "write "),
    ] {
        let cramped = Cramped::new();
        let file = archive(&cramped.desk, &data, packed);
        let load = ["load", "-t", "example.com/app:1", file];
        cramped.assert_wants_room(&load, &[written, "No space left", HINT], &data);
    }
}

/// It was an answer about the Dockerfile.
#[test]
fn a_build_onto_a_full_disk_says_so_as_a_pull_does() {
    let (own, base) = ("FROM scratch\nCOPY data /\n", "FROM oci-archive:app.tar\nENV A=1\n");
    // No room for its own layer, for that of its base, for its files.
    for (dockerfile, data) in [(own, noise(LENGTH)), (base, noise(LENGTH)), (own, small())] {
        let cramped = Cramped::new();
        archive(&cramped.desk, &data, false);
        std::fs::write(cramped.desk.path("data"), &data).expect("written");
        std::fs::write(cramped.desk.path("Dockerfile"), dockerfile).expect("written");
        let build = ["build", "--os", "linux", "-t", "example.com/app:1", "."];
        cramped.assert_wants_room(&build, &["No space left", HINT], &data);
    }
}

#[test]
fn gc_makes_room_on_a_full_disk_as_the_hint_says() {
    let (cramped, data) = (Cramped::new(), noise(LENGTH));
    let old = cramped.desk.push(&image(&[b"old", &*data].concat(), false), "try/old:1");
    let new = cramped.desk.push(&image(&data, false), "try/new:1");
    assert_eq!(cramped.run(&["pull", &old]).code, 0);
    cramped.fill(ROOM);
    cramped.run(&["pull", &new]).refused(3, &["No space left"]);
    assert_eq!(cramped.listed()[0]["names"], json!([old]));
    let freed = cramped.run(&["gc", "--all", "-o", "json"]);
    assert_eq!(freed.json()["images"][0]["names"], json!([old]), "{}", freed.stderr);
    cramped.assert_brings(&["pull", &new], &data);
}
