//! Processes that die in the middle, wherever that is.

use std::collections::BTreeSet;
use std::time::Duration;

use images::content::Content;
use images::fail::POINTS;
use images::fsck::Problem;

use crate::processes::{World, bytes_of, eventually};
use crate::scene::{APP, COUSIN, Scene, WHOLE};

/// The places of the store itself. Who adds one here sees it tried; those of others are tried where they are passed.
const STORE_POINTS: [&str; 17] = [
    "lease-locked",
    "lease-written",
    "flight-taken",
    "blob-part",
    "blob-synced",
    "blob-committed",
    "layer-begun",
    "layer-noted",
    "layer-committed",
    "layers-settled",
    "record-written",
    "name-written",
    "pinned",
    "names-removed",
    "record-removed",
    "part-discarded",
    "trash-filled",
];
/// The how-manieth time a place is passed; with three layers in four parts each, some are passed often.
const TIMES: [u64; 4] = [1, 2, 5, 13];

#[test]
fn another_takes_over_from_a_killed_writer_and_goes_on_where_it_was() {
    let world = World::new();
    world.content();
    let mut first = world.start(&["halt", "app"]);
    first.expect_all(APP.layers.iter().map(|layer| format!("at {layer} 16384")).collect());
    let second = world.pull("app");
    eventually("the second has its lease", || world.leases() == 2);
    assert!(world.logged().is_empty(), "the first is at it: {:?}", world.logged());
    first.kill();
    second.succeed();
    let expected = ["load base 16384", "load middle 16384", "load top 16384"];
    assert_eq!(world.logged()[..3], expected);
    assert_eq!(world.logged().len(), 6, "{:?}", world.logged());
    assert_eq!(world.content().usage().unwrap().bytes, bytes_of(&APP));
    world.assert_empties();
}

/// Nothing that is there may be wrong; what was under way may lie about.
fn assert_only_orphans(content: &Content, when: &str) {
    let findings = content.fsck(false).unwrap();
    for finding in findings.found {
        assert!(matches!(finding.problem, Problem::Orphan { .. }), "{when}: {finding}");
    }
}

#[test]
fn a_kill_at_any_fail_point_leaves_nothing_wrong_and_nothing_behind() {
    for scene in [APP, WHOLE] {
        let died: BTreeSet<_> = STORE_POINTS.into_iter().filter(|point| dies(&scene, point)).collect();
        assert_eq!(died, BTreeSet::from_iter(passed()), "{}: some places were never passed", scene.image);
    }
}

/// Whether somebody who makes the image and removes it comes by the place. Each time, all is right afterwards.
fn dies(scene: &Scene<'_>, point: &str) -> bool {
    assert!(POINTS.iter().any(|known| known.name == point), "{point} is not in the table");
    let world = World::new();
    for (number, times) in TIMES.into_iter().enumerate() {
        let when = failpoint::setting(point, times);
        if !world.start_with(&["life", scene.image], Some(&when)).died() {
            return number > 0;
        }
        recovers(&world, scene, &format!("{}, {when}", scene.image));
    }
    true
}

/// Where a disk cannot be synced, nobody comes by the place after that.
fn passed() -> impl Iterator<Item = &'static str> {
    let syncs = os::file::sync_disk(&std::env::temp_dir()).is_ok();
    STORE_POINTS.into_iter().filter(move |point| syncs || *point != "layers-settled")
}

fn recovers(world: &World, scene: &Scene<'_>, when: &str) {
    let content = world.content();
    let swept = ["unfinished-", "trash/", "leases/", "locks/", ".tmp"];
    let left = world.rest().into_iter().find(|name| swept.iter().any(|mark| name.contains(mark)));
    assert_eq!(left, None, "{when}: the opening left it");
    assert_only_orphans(&content, when);
    world.pull(scene.image).succeed();
    scene.verify(&content);
    assert_eq!(content.usage().unwrap().bytes, bytes_of(scene), "{when}");
    assert!(content.fsck(false).unwrap().found.is_empty(), "{when}");
    content.unpin("pod/container").unwrap();
    world.assert_empties();
}

/// A sequence that looks like chance and is the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn kills_at_random_moments_hurt_nobody_else() {
    let (world, mut chance) = (World::new(), Chance(5));
    world.content();
    for round in 0..25 {
        let victims = ["app", "cousin"].map(|image| world.start(&["life", image]));
        let (other, mut collector) = (world.pull("cousin"), world.start(&["collect"]));
        for victim in victims {
            std::thread::sleep(Duration::from_micros(chance.below(20_000)));
            victim.kill();
        }
        other.succeed();
        collector.go_on();
        collector.succeed();
        let content = world.content();
        assert_only_orphans(&content, &format!("round {round}"));
        content.unpin("pod/container").unwrap();
    }
    for image in ["app", "cousin"] {
        world.pull(image).succeed();
    }
    APP.verify(&world.content());
    COUSIN.verify(&world.content());
    world.assert_empties();
}
