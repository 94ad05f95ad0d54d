use super::*;
use crate::content::tests::World;
use crate::names::Named;
use crate::record::{Form, Record};
use crate::reference::Reference;

const EMPTY_DISK: Disk = Disk { total: 1 << 40, available: 1 << 40 };
const FULL_DISK: Disk = Disk { total: 1 << 40, available: 0 };

fn name(world: &World, text: &str, id: &Digest) {
    let target = world.content.put(format!("index of {id}").as_bytes()).unwrap();
    world
        .content
        .names()
        .set(&Reference::parse(text).unwrap(), &Named { id: id.clone(), target, indexes: Vec::new() })
        .unwrap();
}

fn rooms(world: &World) -> Vec<String> {
    let rooms = ["blobs/sha256", "layers", "flat", "records", "used", "trash", "ingest", "leases", "pins"];
    rooms.into_iter().flat_map(|room| world.files(room)).chain(world.flights()).collect()
}

#[test]
fn a_removed_image_leaves_nothing_and_gives_back_what_it_took() {
    let world = World::new();
    let record = world.image("one");
    name(&world, "app:1", &record.id);
    let before = world.content.usage().unwrap();
    assert!(before.blobs > 0 && before.unpacked > 0 && before.inodes > 0, "{before:?}");
    let removed = world.content.remove("app:1", false).unwrap();
    assert_eq!((removed.image.as_ref(), removed.bytes), (Some(&record.id), before.bytes));
    assert_eq!(removed.untagged, [Reference::parse("app:1").unwrap().to_string()]);
    assert_eq!(world.content.usage().unwrap(), Usage::default());
    assert!(rooms(&world).is_empty(), "{:?}", rooms(&world));
}

#[test]
fn a_name_goes_before_the_image_and_an_id_takes_both() {
    let world = World::new();
    let record = world.image("one");
    name(&world, "app:1", &record.id);
    name(&world, "app:2", &record.id);
    let removed = world.content.remove("app:1", false).unwrap();
    assert_eq!((removed.image, removed.bytes, removed.untagged.len()), (None, 0, 1));
    name(&world, "app:3", &record.id);
    let error = world.content.remove(record.id.short(), false).unwrap_err();
    assert!(matches!(&error, DepotError::SeveralNames { names, .. } if names.len() == 2), "{error}");
    let removed = world.content.remove(record.id.as_str(), true).unwrap();
    assert_eq!((removed.image, removed.untagged.len()), (Some(record.id.clone()), 2));
}

#[test]
fn an_image_is_found_by_what_its_registry_calls_it() {
    let world = World::new();
    let record = world.image("one");
    name(&world, "example.com/app:1", &record.id);
    let target = Digest::of(format!("index of {}", record.id).as_bytes());
    let elsewhere = world.content.remove(&format!("example.com/other@{target}"), false);
    assert!(matches!(elsewhere, Err(DepotError::NoImage(_))), "{elsewhere:?}");
    let removed = world.content.remove(&format!("example.com/app@{target}"), false).unwrap();
    assert_eq!((removed.image.as_ref(), removed.untagged.len()), (Some(&record.id), 1));
}

#[test]
fn what_a_container_uses_is_not_removed_and_the_container_is_named() {
    let world = World::new();
    let record = world.image("one");
    name(&world, "app:1", &record.id);
    world.content.pin("default/web", &record.id).unwrap();
    for force in [false, true] {
        let error = world.content.remove("app:1", force).unwrap_err();
        assert!(error.to_string().contains("default/web"), "{error}");
    }
    world.content.unpin("default/web").unwrap();
    let lease = world.content.hold(std::slice::from_ref(&record.id)).unwrap();
    assert!(matches!(world.content.remove("app:1", true), Err(DepotError::InUse { .. })));
    drop(lease);
    world.content.remove("app:1", false).unwrap();
}

#[test]
fn an_image_that_is_not_here_or_not_clear_is_said() {
    let world = World::new();
    assert!(
        matches!(world.content.remove("app:9", false), Err(DepotError::NoImage(text)) if text == "app:9")
    );
    let ids: Vec<Digest> = (0..40).map(|n| world.bare_image(&n.to_string()).id.clone()).collect();
    let first = |id: &Digest| id.hex()[..1].to_owned();
    let twice =
        ids.iter().find(|id| ids.iter().filter(|other| first(other) == first(id)).count() > 1).unwrap();
    assert!(matches!(world.content.remove(&first(twice), false), Err(DepotError::NoImage(_))), "too short");
    world.content.remove(&twice.hex()[..20], false).unwrap();
}

#[test]
fn what_two_images_share_goes_with_the_second() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|own| world.image_with(own, &["shared", own]));
    let shared = Digest::of(b"layer shared");
    world.content.remove(one.id.as_str(), false).unwrap();
    assert!(world.content.layer(&shared).unwrap().is_some());
    world.content.remove(two.id.as_str(), false).unwrap();
    assert!(rooms(&world).is_empty(), "{:?}", rooms(&world));
}

#[test]
fn a_part_that_a_pull_under_way_needs_stays() {
    let world = World::new();
    let record = world.image_with("one", &["shared"]);
    let lease = world.content.hold(&[Digest::of(b"layer shared")]).unwrap();
    world.content.remove(record.id.as_str(), false).unwrap();
    assert!(world.content.layer(&Digest::of(b"layer shared")).unwrap().is_some());
    world.content.collect(&Thresholds::default(), FULL_DISK).unwrap();
    assert!(world.content.layer(&Digest::of(b"layer shared")).unwrap().is_some());
    drop(lease);
    assert!(world.content.sweep().unwrap() > 0);
    assert!(rooms(&world).is_empty(), "{:?}", rooms(&world));
}

#[test]
fn an_image_that_is_unpacked_whole_needs_no_layers_unless_a_container_began_with_them() {
    let world = World::new();
    let record = world.image("one");
    let layer = &record.layers[0].diff_id;
    world.content.pin("pod", &record.id).unwrap();
    world.content.put_record(&Record { form: Form::Flat, ..(*record).clone() }).unwrap();
    assert_eq!(world.content.sweep().unwrap(), 0);
    assert!(world.content.layer(layer).unwrap().is_some());
    world.content.unpin("pod").unwrap();
    assert!(world.content.sweep().unwrap() > 0);
    assert!(world.content.layer(layer).unwrap().is_none());
}

#[test]
fn a_full_disk_costs_the_images_that_nobody_uses_and_no_other() {
    let world = World::new();
    let [pinned, old, young] = ["pinned", "old", "young"].map(|name| world.image(name));
    world.content.put_record(&Record { pulled: now(), ..(*young).clone() }).unwrap();
    world.content.pin("pod", &pinned.id).unwrap();
    let nothing = world.content.collect(&Thresholds::default(), EMPTY_DISK).unwrap();
    assert_eq!(nothing, Collected::default());
    let took = world.content.usage().unwrap();
    let done = world.content.collect(&Thresholds::default(), FULL_DISK).unwrap();
    assert_eq!(done.images, std::slice::from_ref(&old.id));
    assert_eq!(done.bytes, took.bytes - world.content.usage().unwrap().bytes);
    assert_eq!(done.missing, (1u64 << 40) / 5 - done.bytes);
    let left: Vec<Digest> = world.content.records().unwrap().iter().map(|record| record.id.clone()).collect();
    assert!(left.contains(&pinned.id) && left.contains(&young.id) && left.len() == 2);
}

/// How much of it was to go was a number of bytes, which a disk without a size never asks for.
#[test]
fn all_that_nobody_uses_goes_from_a_disk_that_says_nothing_of_its_size() {
    let world = World::new();
    let [pinned, free] = ["pinned", "free"].map(|name| world.image(name));
    world.content.pin("pod", &pinned.id).unwrap();
    std::fs::write(world.content.ingest_path(&Digest::of(b"half")), "part").unwrap();
    let done = world.content.collect(&Thresholds::ALL, Disk { total: 0, available: 0 }).unwrap();
    assert_eq!((done.images, done.missing), (vec![free.id.clone()], 0));
    assert_eq!(world.files("ingest"), [""; 0]);
    assert!(world.content.record(&pinned.id).unwrap().is_some());
}

#[test]
fn an_image_that_is_used_again_is_young_again() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|name| world.image(name));
    let hour = Duration::from_secs(3600);
    world.content.used_at(&one.id, SystemTime::now() - hour * 3).unwrap();
    world.content.used_at(&two.id, SystemTime::now() - hour * 2).unwrap();
    let thresholds = Thresholds { max_age: Some(hour), ..Thresholds::default() };
    world.content.used(&one.id).unwrap();
    assert_eq!(world.content.collect(&thresholds, EMPTY_DISK).unwrap().images, std::slice::from_ref(&two.id));
}

#[test]
fn downloads_that_nobody_goes_on_with_are_given_up() {
    let world = World::new();
    let [fresh, held, stale] = [b"fresh", b"heldd", b"stale"].map(|text| Digest::of(text));
    let old = SystemTime::now() - STALE * 2;
    for digest in [&fresh, &held, &stale] {
        std::fs::write(world.content.ingest_path(digest), "part").unwrap();
    }
    for digest in [&held, &stale] {
        let path = world.content.ingest_path(digest);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let lease = world.content.hold(std::slice::from_ref(&held)).unwrap();
    assert_eq!(world.content.usage().unwrap().partial, 12);
    assert_eq!(world.content.collect(&Thresholds::default(), EMPTY_DISK).unwrap().bytes, 4);
    assert_eq!(world.files("ingest").len(), 2);
    assert_eq!(world.content.collect(&Thresholds::default(), FULL_DISK).unwrap().bytes, 4, "room is needed");
    assert_eq!(world.files("ingest"), [held.hex()]);
    drop(lease);
    world.content.sweep().unwrap();
    assert!(world.files("ingest").is_empty());
}

/// Parts of a pull that was given up: a blob, a layer, half a download. All that they take.
fn strays(world: &World, name: &str) -> u64 {
    let record = world.image(name);
    std::fs::remove_file(world.content.record_path(&record.id)).unwrap();
    std::fs::write(world.content.ingest_path(&Digest::of(name.as_bytes())), "part").unwrap();
    world.content.usage().unwrap().bytes
}

/// As if everything that is in the store now had come so long ago.
fn age(world: &World, ago: Duration) {
    let parts = world.content.parts().unwrap();
    let note = |part: &survey::Part| match &part.key {
        Key::Blob(digest) => world.content.blob_path(digest),
        key => world.content.path_of(key).join("layer.json"),
    };
    let downloads = world.files("ingest").into_iter().map(|name| world.content.room("ingest").join(name));
    for path in parts.iter().map(note).chain(downloads) {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    }
}

const HOURLY: Upkeep = Upkeep { every: STALE, grace: STALE };

#[test]
fn an_agent_lets_go_of_what_a_pull_left_long_ago_and_of_no_image() {
    let world = World::new();
    let image = world.bare_image("without a name");
    let kept = world.content.usage().unwrap().bytes;
    let old = strays(&world, "old") - kept;
    age(&world, STALE * 2);
    let young = strays(&world, "young") - kept - old;
    assert_eq!(world.content.tend(STALE).unwrap(), old);
    assert_eq!(world.content.usage().unwrap().bytes, kept + young, "a pull may go on with it");
    assert!(world.content.layer(&Digest::of(b"layer young")).unwrap().is_some());
    assert_eq!(world.content.tend(STALE).unwrap(), 0);
    age(&world, STALE * 2);
    assert_eq!(world.content.tend(STALE).unwrap(), young);
    assert_eq!(world.content.usage().unwrap().bytes, kept);
    assert!(world.content.record(&image.id).unwrap().is_some(), "an image stays, whoever it belongs to");
}

/// Its mark, which any later agent may set, changes the directory it is in.
#[test]
fn a_layer_that_is_settled_late_is_no_younger_for_it() {
    let world = World::new();
    strays(&world, "old");
    age(&world, STALE * 2);
    let synced = os::file::sync_disk(world.content.dir());
    if synced.is_err_and(|error| error.kind() == std::io::ErrorKind::Unsupported) {
        return;
    }
    assert_eq!(world.content.settle().unwrap(), 1);
    world.content.tend(STALE).unwrap();
    assert!(world.files("layers").is_empty());
}

#[test]
fn a_keeper_begins_at_once_goes_on_and_ends_with_its_owner() {
    let world = World::new();
    strays(&world, "old");
    let upkeep = Upkeep { every: Duration::from_millis(1), grace: Duration::ZERO };
    let (tell, heard) = std::sync::mpsc::channel();
    let keeper =
        world.content.keep_up(upkeep, move |went| tell.send(went.unwrap()).unwrap_or_default()).unwrap();
    let next = || heard.recv_timeout(Duration::from_secs(30));
    assert!(next().unwrap() > 0, "the first time is at once");
    assert_eq!(next().unwrap(), 0);
    strays(&world, "new");
    while next().unwrap() == 0 {}
    drop(keeper);
    // What it says goes with the thread.
    while next().is_ok() {}
    assert!(matches!(heard.try_recv(), Err(std::sync::mpsc::TryRecvError::Disconnected)));
}

#[test]
fn a_keeper_that_waits_an_hour_ends_at_once() {
    let world = World::new();
    let (tell, heard) = std::sync::mpsc::channel();
    let keeper = world.content.keep_up(HOURLY, move |_| tell.send(()).unwrap_or_default()).unwrap();
    heard.recv_timeout(Duration::from_secs(30)).unwrap();
    drop(keeper);
    let ended = heard.recv_timeout(Duration::from_secs(30));
    assert_eq!(ended, Err(std::sync::mpsc::RecvTimeoutError::Disconnected));
}

#[test]
fn a_lease_waits_for_a_collection_that_decides() {
    /// A lease that does not wait is there within a thousandth of this.
    const BLOCKED: Duration = Duration::from_millis(300);
    let world = World::new();
    let moment = world.content.collection().unwrap();
    let (tell, heard) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            tell.send(None).unwrap();
            tell.send(Some(world.content.hold(&[]).unwrap())).unwrap();
        });
        assert!(heard.recv().unwrap().is_none(), "it begins");
        assert!(heard.recv_timeout(BLOCKED).is_err(), "it did not wait");
        assert!(world.files("leases").is_empty(), "it was written while a collection decides");
        drop(moment);
        let lease = heard.recv_timeout(Duration::from_secs(30)).expect("it goes on").unwrap();
        assert!(!world.files("leases").is_empty());
        drop(lease);
    });
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}
