//! Layers and flat images: complete or absent, and after a reboot only what reached the disk.

use super::*;

fn make(content: &Content, diff: &Digest, body: &str) -> Unpacked {
    let _flight = content.flight(Key::Layer(diff.clone()), &|| false).unwrap();
    let unfinished = content.new_layer(diff).unwrap();
    std::fs::write(unfinished.files().join("a"), body).unwrap();
    unfinished.commit(note(body.len() as u64)).unwrap()
}

fn note(size: u64) -> Note {
    Note { size, entries: 1, implied: vec!["usr".into()], warnings: vec!["a: no owner".into()] }
}

fn body(unpacked: &Unpacked) -> String {
    std::fs::read_to_string(unpacked.files.join("a")).unwrap()
}

#[test]
fn a_layer_is_there_with_its_note_once_it_is_whole() {
    let world = World::new();
    let diff = Digest::of(b"layer");
    let flight = world.flight(Key::Layer(diff.clone()));
    let unfinished = world.content.new_layer(&diff).unwrap();
    assert!(world.content.layer(&diff).unwrap().is_none());
    drop(unfinished);
    assert!(world.files(LAYERS).is_empty(), "what is given up goes");
    drop(flight);
    let made = make(&world.content, &diff, "x");
    let found = world.again().layer(&diff).unwrap().expect("there");
    assert_eq!((&found.files, &found.note), (&made.files, &made.note));
    assert_eq!((body(&found).as_str(), &*found.note), ("x", &note(1)));
    assert!(world.content.flat(&diff).unwrap().is_none(), "a flat image is another thing");
}

#[test]
fn a_flat_image_is_kept_like_a_layer() {
    let world = World::new();
    let id = Digest::of(b"config");
    let _flight = world.flight(Key::Flat(id.clone()));
    let made = world.content.new_flat(&id).unwrap().commit(note(7)).unwrap();
    assert_eq!(world.content.flat(&id).unwrap().unwrap().files, made.files);
    assert!(world.content.layer(&id).unwrap().is_none());
}

#[test]
fn the_next_opening_sweeps_what_a_dead_process_left_and_nothing_else() {
    let world = World::new();
    let [dead, alive] = [Digest::of(b"dead"), Digest::of(b"alive")];
    let _flight = world.flight(Key::Layer(alive.clone()));
    let mine = world.content.new_layer(&alive).unwrap();
    std::fs::create_dir_all(
        world.content.room(LAYERS).join(format!("unfinished-{}", dead.hex())).join("files"),
    )
    .unwrap();
    std::fs::create_dir_all(world.content.room(TRASH).join("1-2/files")).unwrap();
    std::fs::write(world.content.lock_path(&Key::Layer(dead).file_name()), "").unwrap();
    std::fs::write(world.content.room(RECORDS).join("x.json.1-2.tmp"), "").unwrap();
    world.again();
    assert_eq!(world.files(LAYERS), [format!("unfinished-{}", alive.hex())]);
    assert!(mine.files().is_dir());
    assert_eq!(world.flights(), [Key::Layer(alive).file_name()]);
    assert!(world.files(TRASH).is_empty() && world.files(RECORDS).is_empty());
}

#[test]
fn after_a_reboot_only_what_was_synced_is_trusted_and_the_rest_is_made_again() {
    let world = World::new();
    let [synced, late] = [Digest::of(b"synced"), Digest::of(b"late")];
    make(&world.content, &synced, "x");
    let can_sync = os::file::sync_disk(world.content.dir()).is_ok();
    assert_eq!(world.content.settle().unwrap(), usize::from(can_sync));
    assert_eq!(world.content.settle().unwrap(), 0, "marked once");
    if !can_sync {
        std::fs::write(world.content.room(LAYERS).join(synced.hex()).join("synced"), "").unwrap();
    }
    make(&world.content, &late, "y");
    let rebooted = world.rebooted();
    assert_eq!(body(&rebooted.layer(&synced).unwrap().unwrap()), "x");
    assert!(rebooted.layer(&late).unwrap().is_none());
    assert_eq!(rebooted.settle().unwrap(), 0, "a sync now says nothing about what was lost before");
    make(&rebooted, &late, "z");
    assert_eq!(body(&rebooted.layer(&late).unwrap().unwrap()), "z");
    world.again();
    assert!(world.files(TRASH).is_empty());
}

#[test]
fn what_is_settled_later_is_trusted_after_a_reboot() {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);
    let world = World::new();
    if os::file::sync_disk(world.content.dir()).is_err() {
        return;
    }
    let diffs = [b"first", b"later"].map(|name| Digest::of(name));
    for diff in &diffs {
        make(&world.content, diff, "x");
        world.content.settle_later(|error| panic!("{error}"));
    }
    let (rebooted, begun) = (world.rebooted(), std::time::Instant::now());
    while diffs.iter().any(|diff| rebooted.layer(diff).unwrap().is_none()) {
        assert!(begun.elapsed() < PATIENCE, "never settled");
        std::thread::yield_now();
    }
}

#[test]
fn a_layer_whose_note_power_loss_has_cut_is_absent_and_can_be_made() {
    let world = World::new();
    let diff = Digest::of(b"layer");
    make(&world.content, &diff, "x");
    for cut in ["", "{", r#"{"v":9,"boot":"","size":0,"entries":0,"implied":[],"warnings":[]}"#] {
        std::fs::write(world.content.room(LAYERS).join(diff.hex()).join("layer.json"), cut).unwrap();
        assert!(world.content.layer(&diff).unwrap().is_none(), "{cut}");
    }
    make(&world.content, &diff, "y");
    assert_eq!(body(&world.content.layer(&diff).unwrap().unwrap()), "y");
}

#[test]
fn names_that_are_no_text_survive_a_note() {
    let Some(odd) = os::tree::name(b"us\xff") else { return };
    let note = Note { implied: vec![odd.into(), "usr/lib".into()], ..Note::default() };
    let json = serde_json::to_string(&note).unwrap();
    assert_eq!(serde_json::from_str::<Note>(&json).unwrap(), note, "{json}");
}
