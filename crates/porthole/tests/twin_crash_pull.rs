//! The power goes at each moment of a pull and of a removal: no image is listed whose bytes did not make it to the disk,
//! none is lost that was pulled before, and the next pull is right to the last byte.
//!
//! The disk is real and forgets what nobody synced ([`testbed::disk`]).

use std::path::Path;
use std::process::{Command, Output, Stdio};

use images::fail;
use testbed::disk::{Disk, Survives, Unsynced};
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Options, Registry};

const LAYERS: usize = 2;
const FILES: usize = 5;
/// Told from everything else that a store holds.
const PAYLOAD: &str = "payload-";

/// A registry with one image, and a machine that pulls it.
struct Bench {
    disk: Disk,
    name: String,
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
        let name = format!("{}/try/app:1", registry.address());
        Bench { disk: Disk::new(unsynced).unwrap(), name, _registry: registry }
    }

    fn finish(&self, mut command: Command, verb: &str) -> Output {
        let words: &[&str] = match verb {
            "pull" | "rm" => &[verb, &self.name],
            _ => &[verb],
        };
        command.arg("image").args(words).arg("--root").arg(self.disk.path().join("root"));
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn succeed(&self, verb: &str, when: &str) -> String {
        let output = self.finish(Command::new(env!("CARGO_BIN_EXE_porthole")), verb);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{when}: {verb}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// In a boot that ends with it; whether somebody died at the point.
    fn die(&self, verb: &str, point: &str) -> bool {
        let marker = self.disk.beside().join("died");
        drop(std::fs::remove_file(&marker));
        let mut command = self.disk.in_an_earlier_boot(env!("CARGO_BIN_EXE_porthole").as_ref()).unwrap();
        command.env(failpoint::VARIABLE, failpoint::setting_once(point, 1, &marker));
        let output = self.finish(command, verb);
        let died = marker.exists();
        assert_eq!(died, !output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
        died
    }

    /// A cut while a verb was at the point; false if it does not come by.
    fn cut(&mut self, verb: &str, point: &str, survives: Survives, when: &str) -> bool {
        if verb == "rm" {
            self.succeed("pull", when);
        }
        os::file::sync_disk(self.disk.path()).unwrap();
        let died = self.die(verb, point);
        self.disk.cut(survives).unwrap();
        self.disk.power_on().unwrap();
        let listed = self.succeed("ls", when).contains("try/app");
        assert!(died || verb != "pull" || listed, "{when}: what was pulled is known");
        self.succeed("pull", when);
        assert!(self.succeed("ls", when).contains("try/app"), "{when}");
        self.succeed("fsck", when);
        assert_eq!(self.payloads(when), LAYERS * FILES, "{when}");
        self.succeed("rm", when);
        died
    }

    /// How many files of the image are unpacked, each as it was made.
    fn payloads(&self, when: &str) -> usize {
        count_payloads(&self.disk.path().join("root/images"), when)
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
