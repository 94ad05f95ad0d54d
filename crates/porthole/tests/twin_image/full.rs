//! A disk that is full in the middle of a pull: what failed is said, nothing stays half, and with room the same pull is
//! right.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::disk::{Disk, Unsynced};
use testbed::image::{Image, ImageBuilder, Layer};

use super::desk::{Desk, Ended};
use super::registry::noise;

/// What of the disk is left to a pull.
const ROOM: u64 = 2 << 20;
const LENGTH: usize = 6 << 20;

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

    fn assert_pulls(&self, name: &str, data: &[u8]) {
        let pulled = self.run(&["pull", name]);
        assert_eq!(pulled.code, 0, "{}", pulled.stderr);
        assert_eq!(self.findings(), [] as [Value; 0]);
        let mut found = self.unpacked().into_iter().map(|dir| std::fs::read(dir.join("files/data")));
        assert!(found.any(|found| found.is_ok_and(|found| found == data)), "it is not what was pushed");
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

#[test]
fn a_pull_onto_a_full_disk_says_so_and_leaves_nothing_half() {
    // The first has no room for its blob, the others for their files.
    let small = "the same again ".repeat(LENGTH / 15).into_bytes();
    for (data, whole) in [(noise(LENGTH), false), (small.clone(), false), (small, true)] {
        let cramped = Cramped::new();
        let name = cramped.desk.push(&image(&data, whole), "try/app:1");
        cramped.fill(ROOM);
        cramped.run(&["pull", &name]).refused(3, &["write ", "No space left", "`porthole image gc`"]);
        assert_eq!(cramped.listed(), json!([]));
        assert_eq!(cramped.unpacked(), [] as [&Path; 0], "something is half there");
        assert!(cramped.findings().iter().all(|kind| kind == "orphan"), "{:?}", cramped.findings());
        std::fs::remove_file(cramped.filler()).expect("removed");
        cramped.assert_pulls(&name, &data);
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
    cramped.assert_pulls(&new, &data);
}
