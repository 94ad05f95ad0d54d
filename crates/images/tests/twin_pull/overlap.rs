//! What is done at the same time: several layers, and the unpacking of one that still comes.

use std::fs::DirEntry;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use images::{Caller, ImageError, Progress};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Fault, Wrong};

use crate::support::{Heard, World, image_of, mounted, noise};

const FILES: u64 = 100;
const FILE: usize = 10_000;

fn layers(image: &Image) -> Vec<String> {
    let manifest: serde_json::Value = serde_json::from_slice(&image.documents()[0].bytes).unwrap();
    let layers = manifest["layers"].as_array().unwrap().iter();
    layers.map(|layer| layer["digest"].as_str().unwrap().to_owned()).collect()
}

/// None of them is answered before both are asked for.
#[test]
fn two_layers_come_at_once() {
    let image = image_of(0..2, 200_000);
    let world = World::with(&image);
    let both = Wrong::meet(2);
    for digest in layers(&image) {
        world.registry.fault(Fault::new(both.clone()).path(&format!("*/blobs/{digest}")).times(1));
    }
    let heard = Heard::default();
    let caller = |tell| Caller { tell, gave_up: &|| false };
    let pulled = world.pull_telling("try/app:1", caller(&heard.tell())).unwrap();
    let heard = heard.all();
    let again = heard.iter().any(|progress| matches!(progress, Progress::Retrying { .. }));
    assert!(!again, "they came one by one: {heard:?}");
    let (asked, _) = world.moved();
    assert!(layers(&image).iter().all(|digest| asked.get(digest) == Some(&1)), "{asked:?}");
    assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "12\n");
}

/// Its last bytes never come, and files of it are there all the same.
#[test]
fn a_layer_is_unpacked_while_it_comes() {
    let layer = |layer: Layer, number| layer.file(&format!("data/{number}"), noise(number, FILE), 0o644);
    let image = ImageBuilder::new("linux", "amd64").layer((0..FILES).fold(Layer::new(), layer));
    let image = image.build().unwrap();
    let (world, digest) = (World::with(&image), layers(&image).remove(0));
    let after = image.blobs()[&digest].len() - 1000;
    world.registry.fault(Fault::new(Wrong::Stall { after }).path(&format!("*/blobs/{digest}")));
    let unpacked = AtomicBool::new(false);
    let look = || unpacked.fetch_or(is_begun(&world), Ordering::Relaxed);
    let gave_up = || unpacked.load(Ordering::Relaxed) || look();
    let error = world.pull_telling("try/app:1", Caller { tell: &|_| {}, gave_up: &gave_up });
    let error = error.expect_err("its files came after its last byte");
    assert!(matches!(error, ImageError::GaveUp { .. }), "{error:?}");
    let (asked, moved) = world.moved();
    assert_eq!(asked.get(&digest), Some(&1), "it was waited for until the silence was too long: {asked:?}");
    assert!(moved < crate::support::total(&image), "all of it came: {moved}");
    assert_eq!(world.store().list().unwrap(), []);
    world.assert_sound(true);
    world.registry.clear_faults();
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(mounted(&pulled, "ls data | wc -l"), format!("{FILES}\n"));
    world.assert_sound(false);
}

/// Whether a layer that is not done has a whole file.
fn is_begun(world: &World) -> bool {
    let entries = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    let unfinished = |layer: &DirEntry| layer.file_name().to_string_lossy().starts_with("unfinished-");
    let whole = |file: DirEntry| file.metadata().is_ok_and(|about| about.len() == FILE as u64);
    let mut layers = entries(&world.dir().join("layers")).filter(unfinished);
    layers.any(|layer| entries(&layer.path().join("files/data")).any(whole))
}
