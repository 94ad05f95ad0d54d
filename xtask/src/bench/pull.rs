//! How long it takes until an image is here and unpacked: `porthole image pull` beside containerd with all that it
//! can do in parallel, and beside skopeo and umoci.
//!
//! All pull from one registry, which has one core, into an empty store on a new file system; the page cache is dropped
//! before each pull.
//! The peers' own times count fully: containerd's daemon runs already, ours is a process that starts.
//!
//! | case | image |
//! |---|---|
//! | a | 20 layers of 25 MB |
//! | b | one layer of 500 MB |
//! | c | one layer of 10,000 small files |
//! | d | 4 layers of 25 MB, pulled ten times at once |
//!
//! A case's speed is the compressed size of its image by the time until the last pull has ended.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::{Goal, Measured, ROUNDS, percentile};
use peak::Peak;
use registry::Registry;
use sides::{Programs, Room, SIDES, Side};

mod disk;
mod images;
mod layer;
mod parallel;
mod peak;
mod registry;
mod sides;

pub(super) const GOALS: &[Goal] = &[
    Goal { ours: "a porthole MB/s", peer: "a best peer MB/s", times: 1.5 },
    Goal { ours: "b porthole MB/s", peer: "b best peer MB/s", times: 1.0 },
    Goal { ours: "c porthole MB/s", peer: "c best peer MB/s", times: 1.5 },
    Goal { ours: "d porthole MB/s", peer: "d best peer MB/s", times: 3.0 },
];

/// What ten pulls that share nothing leave on the disk.
const DISK: u64 = 8 << 30;

/// What is pulled and how.
struct Case {
    image: &'static str,
    at_once: usize,
    /// Of the peer that shares nothing between pulls: ten at once take minutes.
    apart: usize,
}

const CASES: &[Case] = &[
    Case { image: "a", at_once: 1, apart: ROUNDS },
    Case { image: "b", at_once: 1, apart: ROUNDS },
    Case { image: "c", at_once: 1, apart: ROUNDS },
    Case { image: "d", at_once: 10, apart: 1 },
];

struct Field {
    programs: Programs,
    registry: Registry,
    /// In compressed bytes, by image.
    sizes: BTreeMap<&'static str, u64>,
}

pub(super) fn run() -> Result<Measured> {
    sides::room_for(DISK)?;
    let field = Field::new(&images::provide()?)?;
    let mut measured = Measured::default();
    for round in 0..ROUNDS {
        for case in CASES {
            // Who begins changes, so that nobody always comes after the same.
            let sides = (0..SIDES.len()).map(|turn| SIDES[(round + turn) % SIDES.len()]);
            for side in sides.filter(|side| *side != Side::SkopeoUmoci || round < case.apart) {
                field.pull(case, side, &mut measured)?;
            }
        }
    }
    for case in CASES {
        best_peer(case.image, &mut measured);
    }
    let of = |name: &str| measured.series.get(name).cloned().unwrap_or_default();
    (measured.ours, measured.peer) = (of(GOALS[0].ours), of(GOALS[0].peer));
    Ok(measured)
}

// === impl Field ===

impl Field {
    fn new(images: &Path) -> Result<Self> {
        let programs = Programs::provide()?;
        let registry = Registry::start()?;
        let mut sizes = BTreeMap::new();
        for case in CASES {
            registry.push(&images.join(case.image), case.image)?;
            sizes.insert(case.image, images::size(images, case.image)?);
        }
        Ok(Self { programs, registry, sizes })
    }

    fn pull(&self, case: &Case, side: Side, measured: &mut Measured) -> Result<()> {
        let room = Room::open(&self.programs, side)?;
        sides::chill()?;
        let before = self.registry.written()?;
        let peak = Peak::watch(self.registry.pid());
        let took = room.pull(&self.registry.reference(case.image), case.at_once);
        let (peak, sent) = (peak.end()?, megabytes(self.registry.written()? - before));
        let took = took?.as_secs_f64();
        room.close()?;
        let speed = megabytes(self.sizes.get(case.image).copied().unwrap_or(0)) / took;
        let (image, name) = (case.image, side.name());
        println!("{image}: {name} {took:.2} s, {speed:.0} MB/s, {peak:.0} MiB at most, {sent:.0} MB sent");
        let mut add = |unit: &str, value| measured.add(format!("{image} {name} {unit}"), value);
        add("MB/s", speed);
        add("s", took);
        add("peak MiB", peak);
        add("sent MB", sent);
        Ok(())
    }
}

/// The speeds of the peer that was faster on the whole.
fn best_peer(image: &str, measured: &mut Measured) {
    let peers = SIDES.iter().filter(|side| **side != Side::Ours);
    let speeds = peers.filter_map(|side| measured.series.get(&format!("{image} {} MB/s", side.name())));
    let best = speeds.max_by(|one, other| percentile(one, 50).total_cmp(&percentile(other, 50))).cloned();
    measured.series.insert(format!("{image} best peer MB/s"), best.unwrap_or_default());
}

fn megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1000).unwrap_or(u32::MAX)) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_peer_is_the_faster_one_by_its_median() {
        let mut measured = Measured::default();
        for (side, speeds) in
            [("porthole", [9.0; 3]), ("containerd", [5.0, 1.0, 4.0]), ("skopeo+umoci", [3.0; 3])]
        {
            measured.series.insert(format!("a {side} MB/s"), speeds.to_vec());
        }
        best_peer("a", &mut measured);
        assert_eq!(measured.series["a best peer MB/s"], [5.0, 1.0, 4.0]);
    }

    #[test]
    fn every_case_has_its_image_and_its_goal() {
        for case in CASES {
            assert!(images::SHAPES.iter().any(|shape| shape.name == case.image), "{}", case.image);
            assert!(GOALS.iter().any(|goal| goal.ours == format!("{} porthole MB/s", case.image)));
        }
    }
}
