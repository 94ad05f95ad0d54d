use std::time::Duration;

use super::*;
use crate::collect::{Disk, Thresholds};
use crate::content::Key;
use crate::content::tests::World;
use crate::names::Named;
use crate::record::Record;
use crate::reference::Reference;

/// What is said, without the directory of this run.
fn said(world: &World, findings: &Findings) -> Vec<String> {
    let dir = format!("{}/", world.content.dir().display()).replace('\\', "/");
    findings.found.iter().map(|finding| finding.to_string().replace('\\', "/").replace(&dir, "")).collect()
}

/// What is found, what a repair does about it, and that nothing is left to find.
fn checked(world: &World) -> (Vec<String>, Vec<Outcome>) {
    let found = world.content.fsck(false).unwrap();
    assert!(found.found.iter().all(|finding| finding.outcome == Outcome::Left), "{found:?}");
    let repaired = world.content.fsck(true).unwrap();
    (said(world, &found), repaired.found.into_iter().map(|finding| finding.outcome).collect())
}

fn assert_sound(world: &World) {
    let again = world.content.fsck(false).unwrap();
    assert!(again.found.is_empty(), "{:?}", said(world, &again));
}

fn named(world: &World, record: &Record) {
    let named = Named { id: record.id.clone(), target: record.manifest.clone(), indexes: Vec::new() };
    world.content.names().set(&Reference::parse("app").unwrap(), &named).unwrap();
}

#[test]
fn a_sound_store_has_nothing_to_tell() {
    let world = World::new();
    named(&world, &world.image_with("one", &["a", "b"]));
    let found = world.content.fsck(true).unwrap();
    assert!(found.is_sound() && found.found.is_empty(), "{:?}", said(&world, &found));
    assert_eq!((found.blobs, found.layers, found.images), (4, 2, 1));
    assert_eq!(found.bytes, world.content.usage().unwrap().blobs);
}

#[test]
fn a_blob_that_rotted_is_found_and_its_image_is_pulled_again() {
    let world = World::new();
    let record = world.image_with("one", &["one", "two"]);
    named(&world, &record);
    let path = world.content.blob_path(&record.layers[0].digest);
    std::fs::write(&path, "rotten one").unwrap();
    let (said, outcomes) = checked(&world);
    assert!(said.len() == 1 && said[0].contains("it is damaged"), "{said:?}");
    // The blob goes, then its image lacks it, then its name leads nowhere.
    assert_eq!(outcomes, [Outcome::Removed, Outcome::Removed, Outcome::Removed]);
    assert!(!path.exists() && world.content.records().unwrap().is_empty());
    assert!(world.content.names().all().unwrap().is_empty());
    let gone = [0, 1].map(|n| world.content.layer(&record.layers[n].diff_id).unwrap().is_none());
    assert_eq!(gone, [true, false], "a layer stays if its blob does");
    world.image_with("one", &["one", "two"]);
    assert_sound(&world);
}

#[test]
fn a_layer_that_lost_a_file_or_its_note_is_found() {
    let world = World::new();
    let record = world.image_with("one", &["a", "b", "c"]);
    let place = |n: usize| world.content.path_of(&Key::Layer(record.layers[n].diff_id.clone()));
    std::fs::remove_file(place(0).join("files/name")).unwrap();
    std::fs::write(place(1).join("synced"), "").unwrap();
    std::fs::write(place(1).join("layer.json"), "").unwrap();
    std::fs::remove_dir_all(place(2).join("files")).unwrap();
    let (mut said, outcomes) = checked(&world);
    said.sort_by_key(|line| line.split_once(": ").map(|(_, why)| why.to_owned()));
    assert!(said[0].contains("it cannot be read"), "{said:?}");
    assert!(said[1].contains("it has no readable note"), "{said:?}");
    assert!(said[2].contains("its files hold 0 bytes, its note says 1"), "{said:?}");
    assert_eq!(outcomes, vec![Outcome::Removed; 3]);
    world.image_with("one", &["a", "b", "c"]);
    assert_sound(&world);
}

/// Whoever is not root sees nothing behind it, and had every such layer removed and pulled again.
#[cfg(unix)]
#[test]
fn a_layer_with_a_directory_that_its_image_closed_is_sound() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    let record = world.image("one");
    let place = world.content.path_of(&Key::Layer(record.layers[0].diff_id.clone()));
    let closed = place.join("files/closed");
    std::fs::create_dir(&closed).unwrap();
    let set_mode = |mode| std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0);
    let found = world.content.fsck(true).unwrap();
    set_mode(0o700);
    assert!(found.found.is_empty() && place.exists(), "{:?}", said(&world, &found));
}

#[test]
fn what_a_container_uses_is_reported_and_kept() {
    let world = World::new();
    let record = world.image("one");
    world.content.pin("default/web", &record.id).unwrap();
    let place = world.content.path_of(&Key::Layer(record.layers[0].diff_id.clone()));
    std::fs::remove_file(place.join("files/name")).unwrap();
    std::fs::remove_file(world.content.blob_path(&record.manifest)).unwrap();
    let (said, outcomes) = checked(&world);
    assert!(said[0].contains("its files hold 0 bytes") && said[1].contains("lacks"), "{said:?}");
    let kept = |outcome: &Outcome| matches!(outcome, Outcome::Kept { why } if why.contains("default/web"));
    assert!(outcomes.len() == 2 && outcomes.iter().all(kept), "{outcomes:?}");
    assert!(place.exists() && world.content.record(&record.id).unwrap().is_some());
}

#[test]
fn layers_that_a_power_loss_may_have_hit_go() {
    for note in [None, Some(""), Some("\0\0\0\0")] {
        let world = World::new();
        let record = world.image("one");
        let path = world.content.path_of(&Key::Layer(record.layers[0].diff_id.clone()));
        if let Some(cut) = note {
            std::fs::write(path.join("layer.json"), cut).unwrap();
        }
        let rebooted = world.rebooted();
        for repair in [false, true] {
            let found = rebooted.fsck(repair).unwrap();
            let said = said(&world, &found);
            assert!(found.found.len() == 1 && found.is_sound(), "{note:?}: not one is damaged: {said:?}");
            assert!(said[0].contains("before the last boot"), "{note:?}: {said:?}");
        }
        assert!(!path.exists(), "{note:?}: it stayed");
    }
}

#[test]
fn what_belongs_to_nothing_goes_and_what_is_under_way_stays() {
    let world = World::new();
    world.image("one");
    let [orphan, held] = [b"orphan", b"held!!"].map(|body| world.content.put(body).unwrap());
    let lease = world.content.hold(std::slice::from_ref(&held)).unwrap();
    let part = Digest::of(b"half");
    std::fs::write(world.content.ingest_path(&part), "ha").unwrap();
    let (said, outcomes) = checked(&world);
    let blob = format!("blobs/sha256/{}: it belongs to no image (6 bytes); left as it is", orphan.hex());
    let ingest = format!("ingest/{}: it belongs to no image (2 bytes); left as it is", part.hex());
    assert_eq!((said, outcomes), (vec![blob, ingest], vec![Outcome::Removed; 2]));
    assert!(world.content.blob(&held).unwrap().is_some());
    assert_sound(&world);
    drop(lease);
}

#[test]
fn records_and_names_that_cannot_be_read_are_said_and_removed() {
    let world = World::new();
    let record = world.image("one");
    named(&world, &record);
    std::fs::write(world.content.record_path(&record.id), "{").unwrap();
    std::fs::write(world.content.names().path(), "{").unwrap();
    let (said, outcomes) = checked(&world);
    assert!(said.len() == 2 && said.iter().all(|line| line.contains("EOF while parsing")), "{said:?}");
    // Only then it is clear that the parts are nobody's: two documents, a blob, a layer.
    assert_eq!(outcomes, vec![Outcome::Removed; 6]);
    assert_sound(&world);
}

/// The record went, then all its parts belonged to nobody, and with them went the files of a running container.
#[test]
fn a_container_whose_images_record_cannot_be_read_keeps_its_files() {
    let world = World::new();
    let [record, other] = [world.image("one"), world.image("other")];
    world.content.pin("default/web", &record.id).unwrap();
    std::fs::write(world.content.record_path(&record.id), "{").unwrap();
    let orphan = world.content.put(b"of nobody").unwrap();
    let (lines, outcomes) = checked(&world);
    assert!(lines.len() == 1 && lines[0].contains("EOF while parsing"), "{lines:?}");
    assert_eq!(outcomes[0], Outcome::Removed);
    let lost = world.content.fsck(true).unwrap();
    let kept = |finding: &Finding| matches!(finding.outcome, Outcome::Kept { .. });
    assert!(lost.found.len() == 1 && kept(&lost.found[0]), "{:?}", said(&world, &lost));
    assert!(lost.found[0].to_string().contains("default/web runs on image"), "{}", lost.found[0]);
    assert_eq!(world.content.sweep().unwrap(), 0);
    let everything = Thresholds { max_age: Some(Duration::ZERO), ..Thresholds::ALL };
    let disk = Disk { total: 1 << 40, available: 0 };
    assert_eq!(world.content.collect(&everything, disk).unwrap().images, []);
    world.content.remove(other.id.as_str(), true).unwrap();
    let layer = world.content.layer(&record.layers[0].diff_id).unwrap().expect("its layer");
    assert!(layer.files.join("name").exists() && world.content.blob(&record.manifest).unwrap().is_some());
    // A pull writes the record again, and what belongs to nobody is told apart.
    world.image("one");
    assert!(world.content.sweep().unwrap() > 0);
    assert!(world.content.blob(&orphan).unwrap().is_none() && layer.files.join("name").exists());
    assert_sound(&world);
}

#[test]
fn a_damaged_layer_stays_while_it_may_be_a_containers() {
    let world = World::new();
    let record = world.image("one");
    world.content.pin("default/web", &record.id).unwrap();
    std::fs::write(world.content.record_path(&record.id), "{").unwrap();
    let place = world.content.path_of(&Key::Layer(record.layers[0].diff_id.clone()));
    std::fs::write(place.join("files/name"), "other bytes").unwrap();
    let found = world.content.fsck(true).unwrap();
    let kept =
        |finding: &Finding| matches!(&finding.outcome, Outcome::Kept { why } if why.contains("default/web"));
    assert!(found.found.iter().any(kept), "{:?}", said(&world, &found));
    assert!(place.exists());
}

#[test]
fn what_a_newer_porthole_wrote_is_left_with_all_it_may_need() {
    let world = World::new();
    let record = world.image("one");
    std::fs::write(world.content.names().path(), r#"{"v":9}"#).unwrap();
    let found = world.content.fsck(true).unwrap();
    assert!(!found.is_sound() && found.found.len() == 1, "{:?}", said(&world, &found));
    assert!(world.content.layer(&record.layers[0].diff_id).unwrap().is_some());
}

#[test]
fn strangers_are_named_and_only_ours_are_removed() {
    let world = World::new();
    let old = world.content.dir().join(format!("sha256-{}", Digest::of(b"x").hex()));
    std::fs::create_dir_all(old.join("files")).unwrap();
    std::fs::write(world.content.dir().join("notes.txt"), "mine").unwrap();
    let found = world.content.fsck(true).unwrap();
    assert_eq!(found.found.len(), 2, "{:?}", said(&world, &found));
    assert!(!old.exists() && world.content.dir().join("notes.txt").exists());
}

#[test]
fn the_directory_of_a_running_build_is_no_finding_and_stays() {
    let world = World::new();
    let site = crate::build::Site::make(world.content.dir()).unwrap();
    std::fs::write(site.path().join("layer"), "half").unwrap();
    assert_eq!(world.content.fsck(false).map(|findings| findings.found.len()).unwrap(), 0);
    assert_eq!(world.content.fsck(true).map(|findings| findings.found.len()).unwrap(), 0);
    assert!(site.path().join("layer").exists());
    drop(site);
    // A number that no process has.
    let left = world.content.dir().join("unfinished-build-4294967295");
    std::fs::create_dir(&left).unwrap();
    let (_, outcomes) = checked(&world);
    assert_eq!((outcomes, left.exists()), (vec![Outcome::Removed], false));
}
