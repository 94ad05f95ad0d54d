//! The power goes at each moment of a pull and of a removal: no image is listed whose bytes did not make it to the disk,
//! none is lost that was pulled before, and the next pull is right to the last byte.
//!
//! The disk is real and forgets what nobody synced ([`testbed::disk`]).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use images::{Store, fail};
use testbed::disk::{Disk, Survives, Unsynced};
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Options, Registry};

const LAYERS: usize = 2;
const FILES: usize = 5;
/// Told from everything else that a store holds.
const PAYLOAD: &str = "payload-";

/// What another image holds, which was pulled before.
const KEPT: &str = "kept since before the first cut";
/// What fsck may find after a cut: what belongs to no image, and what is made again when it is wanted.
const HARMLESS: [&str; 2] = ["orphan", "unsettled"];

/// A registry with two images, and a machine that has one of them and pulls the other.
struct Bench {
    disk: Disk,
    name: String,
    kept: String,
    _registry: Registry,
}

fn payload(layer: usize, file: usize) -> String {
    format!("{layer} {file} ").repeat(5000)
}

fn image() -> ImageBuilder {
    (0..LAYERS).fold(ImageBuilder::new("linux", "amd64"), |image, number| {
        let layer = (0..FILES).fold(Layer::new(), |layer, file| {
            layer.file(&format!("{PAYLOAD}{number}-{file}"), payload(number, file), 0o644)
        });
        image.layer(layer)
    })
}

/// One that links from a layer into another: they cannot be stacked, and it is unpacked whole.
fn whole_image() -> ImageBuilder {
    image().layer(Layer::new().hard_link("link", &format!("{PAYLOAD}0-0")))
}

// === impl Bench ===

impl Bench {
    fn new(unsynced: Unsynced, image: &ImageBuilder) -> Bench {
        let registry = Registry::start(Options::default()).unwrap();
        registry.push(&image.build().unwrap(), "try/app:1").unwrap();
        let kept = ImageBuilder::new("linux", "amd64").layer(Layer::new().file("kept", KEPT, 0o644));
        registry.push(&kept.build().unwrap(), "try/kept:1").unwrap();
        let [name, kept] = ["app", "kept"].map(|name| format!("{}/try/{name}:1", registry.address()));
        let bench = Bench { disk: Disk::new(unsynced).unwrap(), name, kept, _registry: registry };
        bench.keep();
        bench
    }

    /// Pulled, and settled as an agent does it when nobody waits.
    fn keep(&self) {
        self.succeed(&["pull", &self.kept], "before the first cut");
        assert_eq!(Store::open(&self.images()).unwrap().content().settle().unwrap(), 1);
    }

    fn images(&self) -> PathBuf {
        self.disk.path().join("root/images")
    }

    fn finish(&self, mut command: Command, words: &[&str]) -> Output {
        command.arg("image").args(words).arg("--root").arg(self.disk.path().join("root"));
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.finish(Command::new(env!("CARGO_BIN_EXE_porthole")), words)
    }

    fn succeed(&self, words: &[&str], when: &str) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{when}: {words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// In a boot that ends with it; whether somebody died at the point.
    fn die(&self, verb: &str, point: &str) -> bool {
        let marker = self.disk.beside().join("died");
        drop(std::fs::remove_file(&marker));
        let mut command = self.disk.in_an_earlier_boot(env!("CARGO_BIN_EXE_porthole").as_ref()).unwrap();
        command.env(failpoint::VARIABLE, failpoint::setting_once(point, 1, &marker));
        let output = self.finish(command, &[verb, &self.name]);
        let died = marker.exists();
        assert_eq!(died, !output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
        died
    }

    /// A cut while a verb was at the point; false if it does not come by.
    fn cut(&mut self, verb: &str, point: &str, survives: Survives, when: &str) -> bool {
        if verb == "rm" {
            self.succeed(&["pull", &self.name], when);
        }
        os::file::sync_disk(self.disk.path()).unwrap();
        let died = self.die(verb, point);
        self.disk.cut(survives).unwrap();
        self.disk.power_on().unwrap();
        let listed = self.succeed(&["ls"], when);
        assert!(died || verb != "pull" || listed.contains("try/app"), "{when}: what was pulled is known");
        assert!(listed.contains("try/kept"), "{when}: what was pulled before is lost");
        self.assert_harmless(when);
        self.succeed(&["pull", &self.name], when);
        assert!(self.succeed(&["ls"], when).contains("try/app"), "{when}");
        self.succeed(&["fsck"], when);
        assert_eq!(self.payloads(when), LAYERS * FILES, "{when}");
        self.succeed(&["rm", &self.name], when);
        died
    }

    /// Every image has all that it is made of, and the one that was pulled before its files.
    fn assert_harmless(&self, when: &str) {
        let output = self.run(&["fsck", "-o", "json"]);
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_harmful = |each: &&serde_json::Value| !HARMLESS.iter().any(|kind| each["kind"] == *kind);
        let harmful: Vec<_> = found["findings"].as_array().unwrap().iter().filter(is_harmful).collect();
        assert!(harmful.is_empty(), "{when}: {harmful:#?}");
        let layers = std::fs::read_dir(self.images().join("layers")).unwrap();
        let mut files = layers.map(|layer| layer.unwrap().path().join("files/kept"));
        assert!(files.any(|file| std::fs::read(file).is_ok_and(|text| text == KEPT.as_bytes())), "{when}");
    }

    /// How many files of the image are unpacked, each as it was made.
    fn payloads(&self, when: &str) -> usize {
        count_payloads(&self.images(), when)
    }
}

fn count_payloads(dir: &Path, when: &str) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                return count_payloads(&entry.path(), when);
            }
            let Some((layer, file)) = name.strip_prefix(PAYLOAD).and_then(|rest| rest.split_once('-')) else {
                return 0;
            };
            let text = payload(layer.parse().unwrap(), file.parse().unwrap());
            assert!(std::fs::read(entry.path()).unwrap() == text.as_bytes(), "{when}: {name} is torn");
            1
        })
        .sum()
}

#[test]
fn a_power_cut_at_any_moment_of_a_pull_or_a_removal_leaves_no_image_that_is_not_whole() {
    let points: Vec<_> = fail::POINTS.iter().map(|point| point.name).collect();
    std::thread::scope(|scope| {
        let images = [("stacked", image()), ("whole", whole_image())];
        let kinds = [Unsynced::Empty, Unsynced::Zeros];
        let each = images.into_iter().flat_map(|image| kinds.map(|kind| (image.clone(), kind)));
        for (first, ((form, image), unsynced)) in each.enumerate() {
            let points = &points;
            scope.spawn(move || {
                let mut bench = Bench::new(unsynced, &image);
                let mut died = Vec::new();
                for (number, point) in points.iter().enumerate() {
                    let verb = if removes(point) { "rm" } else { "pull" };
                    let even = (first + number) % 2 == 0;
                    let survives = if even { Survives::Synced } else { Survives::Names };
                    let when = format!(
                        "power cut at {point} of {verb}, {form}, {unsynced:?}, {survives:?} survives"
                    );
                    if bench.cut(verb, point, survives, &when) {
                        died.push(*point);
                    }
                }
                let missed: Vec<_> = points.iter().filter(|point| !died.contains(*point)).collect();
                // An agent settles layers when nobody waits, and only a pod pins an image.
                assert_eq!(missed, [&"layers-settled", &"pinned"], "no verb comes by");
            });
        }
    });
}

fn removes(point: &str) -> bool {
    ["names-removed", "record-removed", "part-discarded", "trash-filled"].contains(&point)
}
