//! Who gives up leaves the work to be done.

use std::time::{Duration, Instant};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A store with an image that is packed, and what has to be made for it to be ready.
fn packed(world: &World) -> (Store, Digest, Key) {
    let source = world.archive(Sample::default().image(&world.host.os, &[("Files/a", "body")]));
    let Source::OciArchive(path) = &source else { panic!("an archive") };
    let store = world.store();
    let wanted = world.wanted(&source, None);
    let record = store.take_archive(path, "app", &wanted, false, Caller::silent()).unwrap().record;
    let layer = Key::Layer(record.layers[0].diff_id.clone());
    let stacked = world.host.os == "linux" && store.marks.is_some();
    let key = if stacked { layer } else { Key::Flat(record.id.clone()) };
    (store, record.id, key)
}

/// After a reboot a kubelet asked for a container of a large image every two minutes, and each time all began anew.
#[test]
fn an_unpacking_outlives_the_caller_who_lost_patience() {
    for os in ["linux", "windows"] {
        let world = World::on(os);
        let (store, id, key) = packed(&world);
        let nowhere = Source::Dir(PathBuf::new());
        let wanted = world.wanted(&nowhere, None);
        let ready = |caller| store.ready_here(id.as_str(), &wanted, caller);
        let impatient = Caller { tell: &|_| {}, gave_up: &|| true };
        let flight = store.content().flight(key, &|| false).unwrap();
        for _ in 0..3 {
            let error = ready(impatient).unwrap_err();
            assert!(matches!(error, ImageError::GaveUp { .. }), "{error}");
        }
        assert_eq!(store.under_way.count(), 1, "each who asks begins another one");
        drop(flight);
        eventually("the image is unpacked", || store.list().unwrap()[0].form != Form::Packed);
        eventually("nothing is under way", || store.under_way.count() == 0);
        let image = ready(Caller::silent()).unwrap().expect("it is here");
        assert_eq!(seen(&image, if os == "linux" { "Files/a" } else { "a" }), Seen::File);
    }
}

#[test]
fn who_asks_again_gets_what_was_begun_before() {
    let world = World::new();
    let (store, id, key) = packed(&world);
    let nowhere = Source::Dir(PathBuf::new());
    let wanted = world.wanted(&nowhere, None);
    let flight = store.content().flight(key, &|| false).unwrap();
    let impatient = Caller { tell: &|_| {}, gave_up: &|| true };
    store.ready_here(id.as_str(), &wanted, impatient).unwrap_err();
    std::thread::scope(|scope| {
        let later = scope.spawn(|| store.ready_here(id.as_str(), &wanted, Caller::silent()).unwrap());
        drop(flight);
        assert_eq!(later.join().unwrap().expect("it is here").id, Some(id.clone()));
    });
}

#[test]
fn what_is_wrong_is_heard_by_who_waits_for_it() {
    let world = World::new();
    let (store, id, _) = packed(&world);
    let layer = store.content().record(&id).unwrap().unwrap().layers[0].digest.clone();
    let blob = world.store_dir().join("blobs/sha256").join(layer.hex());
    std::fs::write(&blob, vec![b'x'; usize::try_from(store.content().blob_size(&layer).unwrap()).unwrap()])
        .unwrap();
    let nowhere = Source::Dir(PathBuf::new());
    let wanted = world.wanted(&nowhere, None);
    for _ in 0..2 {
        let error = store.ready_here(id.as_str(), &wanted, Caller::silent()).unwrap_err();
        assert!(matches!(error, ImageError::Layer { .. } | ImageError::DiffId { .. }), "{error}");
    }
}
