use serde_json::json;

use super::*;
use crate::collect::Usage;
use crate::content::tests::World;
use crate::reference::Reference;

fn manifest(world: &World, config: &Digest, layer: &str) -> (Digest, Digest) {
    let layer = world.content.put(layer.as_bytes()).unwrap();
    let manifest = json!({"config": {"digest": config.as_str()}, "layers": [{"digest": layer.as_str()}]});
    (world.content.put(manifest.to_string().as_bytes()).unwrap(), layer)
}

fn index(world: &World, entries: &[&Digest]) -> Digest {
    let entries: Vec<_> = entries.iter().map(|entry| json!({"digest": entry.as_str()})).collect();
    world.content.put(json!({"manifests": entries}).to_string().as_bytes()).unwrap()
}

fn name(world: &World, text: &str, id: &Digest, target: &Digest) {
    let named = Named { id: id.clone(), target: target.clone(), indexes: Vec::new() };
    world.content.names().set(&Reference::parse(text).unwrap(), &named).unwrap();
}

fn size(world: &World, digest: &Digest) -> u64 {
    world.content.blob_size(digest).unwrap()
}

fn is_empty(world: &World) -> bool {
    world.content.usage().unwrap() == Usage::default()
}

/// The record of the second took the place of the first one's, and its layers belonged to nothing.
#[test]
fn an_image_that_is_packed_in_two_ways_keeps_both_while_they_have_names() {
    for is_indexed in [false, true] {
        let world = World::new();
        let record = world.image("app");
        let (other, layer) = manifest(&world, &record.id, "packed otherwise");
        let target = if is_indexed { index(&world, &[&other]) } else { other.clone() };
        name(&world, "app:1", &record.id, &target);
        name(&world, "app:2", &record.id, &record.manifest);
        let before = world.content.usage().unwrap();
        assert_eq!(world.content.sweep().unwrap(), 0);
        assert_eq!(world.content.usage().unwrap(), before);
        let its: HashSet<_> = [&other, &layer, &target].into_iter().collect();
        let wanted = its.iter().map(|blob| size(&world, blob)).sum::<u64>();
        let removed = world.content.remove("app:1", false).unwrap();
        assert_eq!((removed.image, removed.bytes), (None, wanted));
        assert_eq!(world.content.usage().unwrap().bytes, before.bytes - wanted);
        assert_eq!(world.content.sweep().unwrap(), 0);
        let removed = world.content.remove("app:2", false).unwrap();
        assert_eq!((removed.bytes, is_empty(&world)), (before.bytes - wanted, true));
    }
}

#[test]
fn the_last_name_takes_all_that_the_image_was_packed_in() {
    let world = World::new();
    let record = world.image("app");
    name(&world, "app:1", &record.id, &manifest(&world, &record.id, "packed otherwise").0);
    let all = world.content.usage().unwrap().bytes;
    assert_eq!(world.content.remove(record.id.as_str(), false).unwrap().bytes, all);
    assert!(is_empty(&world));
}

#[test]
fn a_document_that_says_nothing_stops_no_collection_and_frees_nothing() {
    let world = World::new();
    let [one, two, three] = ["one", "two", "three"].map(|text| world.image(text));
    let missing = Digest::of(b"missing");
    let no_json = world.content.put(b"no JSON").unwrap();
    name(&world, "app:1", &one.id, &missing);
    name(&world, "app:2", &two.id, &no_json);
    let entries = [&missing, &three.layers[0].digest, &three.id, &three.manifest];
    name(&world, "app:3", &three.id, &index(&world, &entries));
    assert_eq!(world.content.sweep().unwrap(), 0);
    for app in ["app:1", "app:2", "app:3"] {
        world.content.remove(app, false).unwrap();
    }
    assert!(is_empty(&world));
}

#[test]
fn a_manifest_without_its_image_is_nobodys() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|text| world.image(text));
    let (other, layer) = manifest(&world, &two.id, "packed otherwise");
    name(&world, "app:1", &one.id, &index(&world, &[&one.manifest, &other]));
    assert_eq!(world.content.sweep().unwrap(), 0);
    world.content.remove(two.id.as_str(), false).unwrap();
    assert_eq!(world.content.blob_size(&layer), None, "who removes a platform wants its room");
    world.content.remove("app:1", false).unwrap();
    assert!(is_empty(&world));
}

#[test]
fn a_platform_goes_with_the_last_index_that_lists_it() {
    let world = World::new();
    let [one, two, shared] = ["one", "two", "shared"].map(|text| world.image(text));
    name(&world, "app:1", &one.id, &index(&world, &[&one.manifest, &shared.manifest]));
    // The same image, packed otherwise.
    let (other, _) = manifest(&world, &shared.id, "packed otherwise");
    name(&world, "app:2", &two.id, &index(&world, &[&two.manifest, &other]));
    let all = world.content.usage().unwrap().bytes;
    let first = world.content.remove("app:1", false).unwrap();
    assert_eq!(first.image.as_ref(), Some(&one.id));
    assert!(world.content.record(&shared.id).unwrap().is_some(), "the other name needs it");
    assert_eq!(world.content.sweep().unwrap(), 0);
    let second = world.content.remove("app:2", false).unwrap();
    assert_eq!((first.bytes + second.bytes, is_empty(&world)), (all, true));
    assert!(world.content.records().unwrap().is_empty());
}

/// They were left without a name when the image for the host had another one.
#[test]
fn a_name_takes_its_other_platforms_along_when_its_image_stays() {
    let world = World::new();
    let [host, old, new] = ["host", "old", "new"].map(|text| world.image(text));
    name(&world, "app:1", &host.id, &index(&world, &[&host.manifest, &old.manifest]));
    name(&world, "app:2", &host.id, &index(&world, &[&host.manifest, &new.manifest]));
    assert!(world.content.remove("app:1", false).unwrap().bytes > 0);
    let is_here = |id| world.content.record(id).unwrap().is_some();
    assert_eq!([&host.id, &old.id, &new.id].map(is_here), [true, false, true]);
    assert_eq!(world.content.sweep().unwrap(), 0);
}

#[test]
fn a_name_goes_alone_while_the_index_of_another_lists_its_image() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|text| world.image(text));
    name(&world, "app:1", &one.id, &one.manifest);
    name(&world, "app:2", &two.id, &index(&world, &[&two.manifest, &one.manifest]));
    let removed = world.content.remove("app:1", false).unwrap();
    assert_eq!((removed.image, removed.untagged.len(), removed.bytes), (None, 1, 0));
    world.content.remove("app:2", false).unwrap();
    assert!(is_empty(&world));
}

#[test]
fn a_platform_that_a_container_uses_stays_when_its_index_goes() {
    let world = World::new();
    let [one, two] = ["one", "two"].map(|text| world.image(text));
    name(&world, "app:1", &one.id, &index(&world, &[&one.manifest, &two.manifest]));
    world.content.pin("pod", &two.id).unwrap();
    world.content.remove("app:1", false).unwrap();
    let left: Vec<_> = world.content.records().unwrap().iter().map(|record| record.id.clone()).collect();
    assert_eq!(left, std::slice::from_ref(&two.id));
    assert_eq!(world.content.sweep().unwrap(), 0);
}
