//! `porthole image pull` killed at every named moment and at a hundred random ones: what it leaves is never taken for
//! good, the next pull is right, and nothing stays that a pull without a crash would not have left.
//!
//! The random moments come from a seed, printed when a round fails; `PORTHOLE_SEED` plays the same moments again.

#[expect(dead_code, reason = "each test uses its part")]
mod moments;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use images::fail;
use moments::Moments;
use serde_json::Value;
use tempfile::TempDir;
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Options, Registry};

const ROUNDS: u32 = 100;
/// Each moves many megabytes.
const LARGE_ROUNDS: u32 = 20;
/// After every so manieth random kill all that is left is looked at: each blob is hashed for it, slowly where nothing is
/// optimised.
const LOOKED_AT: u32 = 5;
/// Above what comes as one, with an end that is no whole segment.
const LARGE: usize = (17 << 20) + 12_345;
const SEGMENT: u64 = 4 << 20;
const LAYERS: usize = 4;
const FILES: usize = 12;

/// A registry with one image, and a store that pulls it.
struct Bench {
    registry: Registry,
    home: TempDir,
    name: String,
}

/// Everything in a store: paths, with the sizes of what has one that cannot differ.
type Inventory = BTreeMap<String, u64>;

/// What pulls and removals without a crash leave.
struct Good {
    whole: Inventory,
    /// What `ls` says that it takes.
    bytes: u64,
    /// After everything was removed again.
    empty: Inventory,
}

// === impl Bench ===

impl Bench {
    fn new(image: &ImageBuilder) -> Bench {
        let registry = Registry::start(Options::default()).expect("a registry");
        registry.push(&image.build().expect("made"), "try/app:1").expect("pushed");
        let name = format!("{}/try/app:1", registry.address());
        Bench { registry, home: tempfile::tempdir().expect("a directory"), name }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.arg("image").args(words).arg("--root").arg(self.home.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("porthole runs")
    }

    fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let [answer, said] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        assert!(output.status.success(), "{words:?}: {}: {said}{answer}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }

    fn pull(&self) {
        self.succeed(&["pull", &self.name]);
    }

    fn remove(&self) {
        self.succeed(&["rm", &self.name]);
    }

    /// How many images are listed, and how much they are said to take.
    fn listed(&self) -> (usize, u64) {
        let listed: Value = serde_json::from_str(&self.succeed(&["ls", "-o", "json"])).expect("JSON");
        let bytes = listed["usage"]["bytes"].as_u64().expect("a number");
        (listed["images"].as_array().expect("a list").len(), bytes)
    }

    /// Whatever a crash left is whole or belongs to no image.
    fn assert_only_orphans(&self, moment: &str) {
        let output = self.run(&["fsck", "-o", "json"]);
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut found = found["findings"].as_array().expect("a list").iter();
        assert!(found.all(|each| each["kind"] == "orphan"), "{moment}: {output:?}");
    }

    fn inventory(&self) -> Inventory {
        let mut found = Inventory::new();
        take_stock(&self.home.path().join("images"), "", &mut found);
        found
    }

    /// After a crash: the store answers, the next pull is right, and nothing else is there than after a good one.
    fn recovers(&self, moment: &str, good: &Good) {
        assert!(self.listed().0 <= 1, "{moment}");
        self.pull();
        assert_eq!(self.listed(), (1, good.bytes), "{moment}");
        self.succeed(&["fsck"]);
        same(&format!("{moment}, then a pull"), &self.inventory(), &good.whole);
        self.remove();
        same(&format!("{moment}, then rm"), &self.inventory(), &good.empty);
    }
}

/// Several layers of several files each, so that there is something to be in the middle of.
fn image() -> ImageBuilder {
    (0..LAYERS).fold(ImageBuilder::new("linux", "amd64"), |image, number| {
        let layer = (0..FILES).fold(Layer::new(), |layer, file| {
            let bytes = noise(40_000, (number * FILES + file) as u64 + 1);
            layer.file(&format!("layer{number}/file{file}"), bytes, 0o644)
        });
        image.layer(layer)
    })
}

/// One whose layers cannot be stacked, because one links to a file of another: it is unpacked whole, as all images
/// are on Windows.
fn whole_image() -> ImageBuilder {
    image().layer(Layer::new().hard_link("copy", "layer0/file0"))
}

/// One whose layer comes in segments.
fn large_image() -> ImageBuilder {
    let layer = Layer::new().file("large", noise(LARGE, 7), 0o644).file("small", noise(1000, 8), 0o644);
    ImageBuilder::new("linux", "amd64").layer(layer)
}

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut moments = Moments::of(seed);
    (0..length / 8 + 1).flat_map(|_| moments.next().to_le_bytes()).take(length).collect()
}

/// Records and notes hold times, whose texts differ in length: only that they are there counts.
fn take_stock(dir: &Path, below: &str, found: &mut Inventory) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = format!("{below}/{}", entry.file_name().to_string_lossy());
        let about = entry.metadata().expect("it is there");
        if about.is_dir() {
            found.insert(format!("{name}/"), 0);
            take_stock(&entry.path(), &name, found);
        } else {
            found.insert(name.clone(), if name.ends_with(".json") { 0 } else { about.len() });
        }
    }
}

fn same(when: &str, found: &Inventory, wanted: &Inventory) {
    if found == wanted {
        return;
    }
    let mut said = format!("{when}:\n");
    for (path, size) in found.iter().filter(|(path, size)| wanted.get(*path) != Some(*size)) {
        writeln!(said, "  there: {path} ({size} bytes)").expect("a string");
    }
    for (path, size) in wanted.iter().filter(|(path, size)| found.get(*path) != Some(*size)) {
        writeln!(said, "  wanted: {path} ({size} bytes)").expect("a string");
    }
    panic!("{said}");
}

fn good(bench: &Bench) -> Good {
    bench.pull();
    let (whole, (_, bytes)) = (bench.inventory(), bench.listed());
    bench.remove();
    Good { whole, bytes, empty: bench.inventory() }
}

/// Kills a pull the how-manieth time it comes by a moment; false if it does not.
fn dies(bench: &Bench, point: &str, times: u64, good: &Good) -> bool {
    let moment = failpoint::setting(point, times);
    let mut command = bench.command(&["pull", &bench.name]);
    let output = command.env(failpoint::VARIABLE, &moment).output().expect("runs");
    if output.status.success() {
        bench.remove();
        return false;
    }
    assert_eq!(output.status.code(), None, "{moment}: {}", String::from_utf8_lossy(&output.stderr));
    bench.assert_only_orphans(&moment);
    bench.recovers(&moment, good);
    true
}

/// What every pull comes by.
const PULLED: [&str; 6] =
    ["blob-part", "blob-synced", "layer-begun", "layer-noted", "record-written", "name-written"];

#[test]
fn a_pull_that_dies_at_any_named_moment_leaves_nothing_that_misleads() {
    let bench = Bench::new(&image());
    let good = good(&bench);
    let dies = |point: &str| [1, 3].map(|times| dies(&bench, point, times, &good)).contains(&true);
    let passed_by: Vec<_> = fail::POINTS.iter().map(|point| point.name).filter(|point| dies(point)).collect();
    let missed: Vec<_> = PULLED.iter().filter(|name| !passed_by.contains(name)).collect();
    assert!(missed.is_empty(), "a pull does not come by {missed:?}");
}

/// It is tried in layers first, so that the moments of the whole come after those of the layers.
#[test]
fn a_pull_of_an_image_that_is_unpacked_whole_dies_as_harmlessly() {
    let bench = Bench::new(&whole_image());
    let good = good(&bench);
    let copied = |path: &String| path.starts_with("/flat/") && path.ends_with("/copy");
    assert!(good.whole.keys().any(copied), "{:?}", good.whole);
    let mut passed_by = Vec::new();
    for point in fail::POINTS {
        let of_layers = point.name.starts_with("layer-");
        for times in 1.. {
            if !dies(&bench, point.name, times, &good) {
                break;
            }
            passed_by.push((point.name, times));
            if !of_layers && times >= 2 {
                break;
            }
        }
    }
    let missed: Vec<_> = PULLED.iter().filter(|name| !passed_by.contains(&(*name, 1))).collect();
    assert!(missed.is_empty(), "a pull does not come by {missed:?}");
    // The last of them is the whole image: of its layers, the one that links to another is never done.
    let last = |name| passed_by.iter().filter(|(point, _)| *point == name).count();
    assert_eq!(last("layer-noted"), LAYERS + 1, "{passed_by:?}");
    assert_eq!(last("layer-committed"), LAYERS + 1, "{passed_by:?}");
    assert!(last("part-discarded") > 0, "the layers stay beside the whole: {passed_by:?}");
}

/// Kills so many pulls, each at a moment of its own.
fn killed_at_random(bench: &Bench, rounds: u32) {
    let begun = Instant::now();
    bench.pull();
    let length = begun.elapsed();
    bench.remove();
    let good = good(bench);
    let mut moments = Moments::new();
    let (mut killed, mut tries) = (0, 0);
    while killed < rounds {
        tries += 1;
        assert!(tries <= 5 * rounds, "only {killed} of {tries} pulls were killed in time");
        let moment = moments.before(length.max(Duration::from_millis(20)));
        let mut child = bench.command(&["pull", &bench.name]).spawn().expect("porthole runs");
        // The one place where time is the condition: the kill is to come at a moment, not after an event.
        std::thread::sleep(moment);
        child.kill().expect("killed");
        if child.wait().expect("ended").success() {
            bench.remove();
            continue;
        }
        killed += 1;
        let moment = format!("kill {killed}, after {moment:?}, {moments:?}");
        if killed.is_multiple_of(LOOKED_AT) {
            bench.assert_only_orphans(&moment);
        }
        bench.recovers(&moment, &good);
    }
}

#[test]
fn a_pull_killed_at_a_hundred_random_moments_is_done_again_and_leaks_nothing() {
    let bench = Bench::new(&image());
    killed_at_random(&bench, ROUNDS);
    assert!(!bench.registry.requests().is_empty());
}

/// Several parts of it are under way at any moment, of which only those before the first gap may count.
#[test]
fn a_pull_in_segments_killed_at_twenty_random_moments_is_done_again_and_leaks_nothing() {
    let bench = Bench::new(&large_image());
    killed_at_random(&bench, LARGE_ROUNDS);
    let ranges = bench.registry.requests().into_iter().filter_map(|request| request.range);
    let begins = ranges.filter_map(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
    let begins: Vec<u64> = begins.collect();
    assert!(begins.contains(&SEGMENT), "it came as one: {begins:?}");
    let resumed = |at: &u64| !at.is_multiple_of(SEGMENT);
    assert!(begins.iter().any(resumed), "no pull went on where another was killed: {begins:?}");
}
