use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn image(size: u64, unused: u32, in_use: bool) -> Candidate<u32> {
    // The part is named after the time, which differs in these tests.
    Candidate { parts: vec![(unused, size)], unused: MINUTE * unused, age: MINUTE * 60, in_use }
}

fn disk(used: u64) -> Disk {
    Disk { total: 1000, available: 1000 - used }
}

fn chosen(images: &[Candidate<u32>], used: u64) -> (Vec<usize>, u64, u64) {
    let choice = choose(images, &Thresholds::default(), disk(used));
    (choice.remove, choice.frees, choice.missing)
}

#[test]
fn the_defaults_are_the_kubelets() {
    let images = [image(30, 10, false), image(30, 30, false), image(30, 20, false)];
    assert_eq!(chosen(&images, 840), (vec![], 0, 0), "below 85 per cent nothing goes");
    assert_eq!(chosen(&images, 850), (vec![1, 2], 60, 0), "down to 80, the longest unused first");
    assert_eq!(chosen(&images, 900), (vec![1, 2, 0], 90, 10), "what is missing is said");
}

#[test]
fn what_is_in_use_or_young_stays() {
    let young = Candidate { age: MINUTE, ..image(100, 40, false) };
    let images = [image(100, 30, true), young, image(20, 1, false)];
    assert_eq!(chosen(&images, 850), (vec![2], 20, 30));
}

#[test]
fn a_part_is_free_when_its_last_image_goes() {
    let shared =
        |unused: u32, own: u32| Candidate { parts: vec![(99, 50), (own, 1)], ..image(0, unused, false) };
    assert_eq!(chosen(&[shared(3, 1), shared(2, 2)], 850), (vec![0, 1], 52, 0));
    let held = Candidate { in_use: true, ..shared(9, 1) };
    assert_eq!(chosen(&[held, shared(2, 2)], 850), (vec![1], 1, 49));
}

#[test]
fn an_image_that_nobody_used_for_long_goes_from_an_empty_disk_too() {
    let images = [image(1, 10, false), image(1, 40, false), image(1, 50, true)];
    let thresholds = Thresholds { max_age: Some(MINUTE * 30), ..Thresholds::default() };
    assert_eq!(choose(&images, &thresholds, disk(10)).remove, [1]);
}

#[test]
fn a_disk_without_a_size_asks_for_nothing() {
    let none = Disk { total: 0, available: 0 };
    assert_eq!(Thresholds::default().needed(none), 0);
    let odd = Disk { total: 10, available: 20 };
    assert_eq!(Thresholds::default().needed(odd), 0);
}

#[test]
fn all_that_nobody_uses_goes_though_it_holds_more_than_the_disk_has_in_use() {
    let young = Candidate { age: Duration::ZERO, ..image(500, 1, false) };
    let images = [image(500, 10, false), image(500, 30, false), image(500, 20, true), young];
    for disk in [disk(0), disk(10), disk(1000), Disk { total: 0, available: 0 }] {
        let choice = choose(&images, &Thresholds::ALL, disk);
        assert_eq!((choice.remove, choice.frees, choice.missing), (vec![1, 0, 3], 1500, 0), "{disk:?}");
    }
}

fn images() -> impl Strategy<Value = Vec<Candidate<u8>>> {
    let parts = proptest::collection::btree_set(0u8..12, 0..5);
    let image =
        (parts, 0u32..200, 0u32..10, any::<bool>()).prop_map(|(parts, unused, age, in_use)| Candidate {
            parts: parts.into_iter().map(|part| (part, u64::from(part) * 7)).collect(),
            unused: Duration::from_secs(unused.into()),
            age: MINUTE * age,
            in_use,
        });
    proptest::collection::vec(image, 0..10)
}

/// What the images of these numbers take up together.
fn taken(images: &[Candidate<u8>], which: impl Iterator<Item = usize>) -> u64 {
    let parts: BTreeMap<u8, u64> = which.flat_map(|index| images[index].parts.clone()).collect();
    parts.values().sum()
}

proptest! {
    #[test]
    fn nothing_in_use_goes_and_enough_is_freed_or_the_lack_is_said(
        images in images(),
        used in 0u64..=1000,
        high in 0u8..=100,
        low in 0u8..=100,
        max_age in proptest::option::of(0u64..200),
    ) {
        let max_age = max_age.map(Duration::from_secs);
        let thresholds = Thresholds { high, low, max_age, min_age: 2 * MINUTE, all: false };
        let needed = thresholds.needed(disk(used));
        let choice = choose(&images, &thresholds, disk(used));
        let gone: BTreeSet<usize> = choice.remove.iter().copied().collect();
        prop_assert_eq!(gone.len(), choice.remove.len(), "one goes once");
        let too_old = |image: &Candidate<u8>| max_age.is_some_and(|most| image.unused > most);
        for index in &gone {
            prop_assert!(!images[*index].in_use);
            prop_assert!(images[*index].age >= thresholds.min_age || too_old(&images[*index]));
        }
        let stays = |index: &usize| !gone.contains(index);
        let freed = taken(&images, 0..images.len()) - taken(&images, (0..images.len()).filter(stays));
        prop_assert_eq!(choice.frees, freed);
        prop_assert_eq!(choice.missing, needed.saturating_sub(freed));
        for (index, image) in images.iter().enumerate() {
            let might = !image.in_use && image.age >= thresholds.min_age;
            prop_assert!(choice.missing == 0 || gone.contains(&index) || !might, "one more could have gone");
        }
        // Without its last one, a choice for room would not have been enough.
        if let Some(last) = choice.remove.last().filter(|last| !too_old(&images[**last])) {
            let without = |index: &usize| !gone.contains(index) || index == last;
            let less = taken(&images, 0..images.len()) - taken(&images, (0..images.len()).filter(without));
            prop_assert!(less < needed);
        }
    }
}
