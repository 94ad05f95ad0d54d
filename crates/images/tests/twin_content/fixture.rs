//! One of the processes that share a store in the tests: `images-fixture STORE ACT…`. Dies when its test says so.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use images::collect::{Disk, Thresholds, Upkeep};
use images::content::Content;
use scene::{ALONE, APP, COUSIN, Counted, Scene, WHOLE, Watch};

mod scene;

struct Silent;

/// Stops in the middle of a blob, until it is told to go on or killed.
struct Halting;

const FULL: Disk = Disk { total: 1 << 40, available: 0 };

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let content = Content::open(Path::new(args[0])).expect("a store");
    match args[1..] {
        ["pull", image, log] => pull(&content, &scene(image), &Counted(Path::new(log))),
        ["halt", image] => pull(&content, &scene(image), &Halting),
        ["hold", image] => hold(&content, &scene(image)),
        ["open", image] => open(&content, &scene(image)),
        ["life", image] => life(&content, &scene(image)),
        ["churn", image, times] => churn(&content, &scene(image), times.parse().expect("a number")),
        ["collect"] => collect(&content),
        ["tend"] => tend(&content),
        ref other => panic!("unknown act {other:?}"),
    }
}

fn pull(content: &Content, scene: &Scene<'_>, watch: &dyn Watch) {
    let checked = |content: &Content| {
        scene.verify(content);
        Ok(())
    };
    scene.pull(content, watch, checked).expect("pulled");
}

fn hold(content: &Content, scene: &Scene<'_>) {
    let _lease = content.hold(&scene.record().digests()).expect("a lease");
    say("holding");
    wait();
}

/// Has a blob and a file of a layer open, and reads them when it is told to.
fn open(content: &Content, scene: &Scene<'_>) {
    let layer = &scene.record().layers[0];
    let files = content.layer(&layer.diff_id).expect("readable").expect("a layer").files;
    let mut open = [
        std::fs::File::open(files.join("body")).expect("a file"),
        content.blob(&layer.digest).expect("readable").expect("a blob"),
    ];
    say("opened");
    wait();
    let read = open.each_mut().map(|file| std::io::copy(file, &mut std::io::sink()).expect("read"));
    say(&format!("read {} {}", read[0], read[1]));
}

/// Comes by every fail point.
fn life(content: &Content, scene: &Scene<'_>) {
    let owner = "pod/container";
    scene.pull(content, &Silent, |content| content.pin(owner, &scene.record().id)).expect("pulled");
    content.settle().expect("settled");
    content.unpin(owner).expect("unpinned");
    content.remove(&scene.reference().to_string(), false).expect("removed");
}

/// What was pulled must be there as long as it is held, whoever collects.
fn churn(content: &Content, scene: &Scene<'_>, times: usize) {
    for _ in 0..times {
        pull(content, scene, &Silent);
    }
}

/// Again and again, until it is told to stop.
fn collect(content: &Content) {
    let told = std::thread::spawn(wait);
    while !told.is_finished() {
        content.collect(&Thresholds::default(), FULL).expect("collected");
    }
}

/// As an agent does it that spares nothing and never rests, until it is told to stop.
fn tend(content: &Content) {
    let upkeep = Upkeep { every: Duration::ZERO, grace: Duration::ZERO };
    let tended = |went| {
        if let Err(error) = went {
            eprintln!("tend: {error}");
            // A panic would end this thread alone.
            std::process::abort();
        }
    };
    let _keeper = content.keep_up(upkeep, tended).expect("a thread");
    wait();
}

fn say(text: &str) {
    println!("{text}");
    std::io::stdout().flush().expect("stdout");
}

fn wait() {
    std::io::stdin().lock().read_line(&mut String::new()).expect("stdin");
}

fn scene(name: &str) -> Scene<'static> {
    let all = [ALONE, APP, COUSIN, WHOLE];
    all.into_iter().find(|scene| scene.image == name).expect("a known image")
}

impl Watch for Silent {}

// === impl Halting ===

impl Watch for Halting {
    fn loading(&self, layer: &str, from: u64) {
        say(&format!("load {layer} {from}"));
    }

    fn part(&self, layer: &str, offset: u64) {
        say(&format!("at {layer} {offset}"));
        wait();
    }
}
