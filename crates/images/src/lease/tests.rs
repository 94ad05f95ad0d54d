use proptest::prelude::*;

use super::*;
use crate::content::tests::World;

#[test]
fn a_lease_holds_while_it_is_had() {
    let world = World::new();
    let [one, two, three] = [b"1", b"2", b"3"].map(|text| Digest::of(text));
    let mut first = world.content.hold(std::slice::from_ref(&one)).unwrap();
    let second = world.content.hold(std::slice::from_ref(&two)).unwrap();
    first.add(std::slice::from_ref(&three)).unwrap();
    // Another handle of the same process must see them too: locks are not the process's but the handle's.
    assert_eq!(world.again().held().unwrap(), BTreeSet::from([one.clone(), two, three.clone()]));
    drop(second);
    assert_eq!(world.content.held().unwrap(), BTreeSet::from([one, three]));
    drop(first);
    assert!(world.content.held().unwrap().is_empty());
    assert!(world.files(LEASES).is_empty());
}

#[test]
fn the_lease_of_a_dead_process_goes_with_the_next_opening() {
    let world = World::new();
    let note = serde_json::to_vec(&Note { v: VERSION, digests: BTreeSet::new() }).unwrap();
    for name in ["7-1.lock", "7-1.json", "7-2.lock"] {
        std::fs::write(world.content.room(LEASES).join(name), &note).unwrap();
    }
    let _alive = world.content.hold(&[]).unwrap();
    world.again();
    assert_eq!(world.files(LEASES).len(), 2, "{:?}", world.files(LEASES));
}

#[test]
fn a_pin_is_of_its_owner_and_stays() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|name| world.image(name).id.clone());
    world.content.pin("pod-1/web", &one).unwrap();
    world.content.pin("pod-1/web", &one).unwrap();
    world.content.pin("pod-2/web", &one).unwrap();
    world.content.pin("pod-2/WEB", &two).unwrap();
    let users = world.again().users().unwrap();
    assert_eq!(users[&one], ["pod-1/web", "pod-2/web"]);
    assert_eq!(users[&two], ["pod-2/WEB"]);
    world.content.unpin("pod-1/web").unwrap();
    world.content.unpin("nobody").unwrap();
    assert_eq!(world.content.users().unwrap()[&one], ["pod-2/web"]);
}

#[test]
fn an_image_that_is_not_here_cannot_be_pinned() {
    let world = World::new();
    let error = world.content.pin("pod", &Digest::of(b"gone")).unwrap_err();
    assert!(matches!(error, DepotError::NoImage(_)), "{error}");
    assert!(world.files(PINS).is_empty());
    let error = world.content.pin(&"A".repeat(61), &Digest::of(b"x")).unwrap_err();
    assert!(matches!(error, DepotError::OwnerTooLong { found: 183, .. }), "{error}");
}

proptest! {
    #[test]
    fn an_owner_is_read_back_from_its_file(owner in "\\PC{0,20}") {
        let name = encoded(&owner).unwrap_or_default();
        prop_assume!(!name.is_empty());
        prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-%".contains(&b)));
        prop_assert_eq!(decoded(&name), Some(owner));
    }
}
