//! Images for several platforms, and indexes that list indexes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use images::collect::{Disk, Thresholds};
use images::platform::{Host, Isolation};
use images::store::Every;
use images::transfer::{Chosen, Format, Platforms, Target, save};
use images::{Access, Caller, ImageError, Progress, Source, Wanted};
use testbed::image::{Image, ImageBuilder, Layer};

use crate::support::World;

fn image(os: &str, architecture: &str) -> Image {
    let file = if os == "windows" { "Files/app" } else { "app" };
    let layer = Layer::new().file(file, format!("for {os} on {architecture}"), 0o755);
    ImageBuilder::new(os, architecture).layer(layer).build().unwrap()
}

fn platforms() -> Image {
    Image::index(&[image("linux", "amd64"), image("windows", "amd64"), image("linux", "arm64")])
}

fn nested() -> Image {
    let inner = Image::index(&[image("linux", "amd64"), image("windows", "amd64")]);
    Image::index(&[Image::index(&[inner]), image("linux", "arm64")])
}

fn pull_every(world: &World, caller: Caller<'_>) -> Result<Every, ImageError> {
    let (reference, access) = (world.reference("try/app:1"), Access::default());
    let (source, host) = (Source::Reference(reference.clone()), Host::new("linux", "amd64"));
    let isolation = Isolation::HostProcess;
    let wanted = Wanted { source: &source, policy: None, host: &host, isolation, access: &access, pin: None };
    world.store().pull_every(&reference, &wanted, true, caller)
}

/// Whether all platforms are here, to be saved.
fn assert_saved_whole(world: &World, every: &Every) {
    let path = world.dir().parent().unwrap().join("all.tar");
    let chosen = [Chosen { name: Some(world.reference("try/app:1")), target: every.target.clone() }];
    let (store, target) = (world.store(), Target::File(&path));
    save(store.content(), &chosen, &Platforms::All, Format::OciArchive, target, Caller::silent()).unwrap();
}

/// They were asked for to learn the platform, and then as what belongs to the image.
#[test]
fn a_configuration_moves_once() {
    let world = World::with(&platforms());
    assert_eq!(pull_every(&world, Caller::silent()).unwrap().records.len(), 3);
    let (asked, _) = world.moved();
    assert!(asked.len() == 6 && asked.values().all(|times| *times == 1), "{asked:?}");
    world.assert_sound(false);
}

/// Each platform was let go when it was whole: a collection took it, and the name led nowhere.
#[test]
fn platforms_are_kept_until_the_name_leads_to_them() {
    let world = World::with(&platforms());
    let (store, begun) = (world.store(), AtomicU32::new(0));
    let tell = |progress: &Progress| {
        if matches!(progress, Progress::Resolved { .. }) {
            begun.fetch_add(1, Ordering::SeqCst);
            let all = Thresholds { high: 0, low: 0, min_age: Duration::ZERO, max_age: None };
            store.content().collect(&all, Disk { total: 1 << 40, available: 0 }).unwrap();
        }
    };
    let every = pull_every(&world, Caller { tell: &tell, gave_up: &|| false }).unwrap();
    assert_eq!(begun.into_inner(), 3);
    for record in &every.records {
        assert!(store.content().record(&record.id).unwrap().is_some(), "{} went", record.platform);
    }
    world.assert_sound(false);
    assert_saved_whole(&world, &every);
}

/// An index between the name's and the manifest belonged to nothing: it was an orphan after a good pull.
#[test]
fn an_index_in_an_index_belongs_to_the_image() {
    let world = World::with(&nested());
    world.pull("try/app:1").unwrap();
    world.assert_sound(false);
    assert_eq!(world.store().content().sweep().unwrap(), 0);
    let every = pull_every(&world, Caller::silent()).unwrap();
    assert_eq!((every.records.len(), every.indexes.len()), (3, 2));
    world.assert_sound(false);
    assert_eq!(world.store().content().sweep().unwrap(), 0);
    assert_saved_whole(&world, &every);
    let store = world.store();
    store.remove(&world.reference("try/app:1").to_string(), false).unwrap();
    store.content().sweep().unwrap();
    assert_eq!(store.content().usage().unwrap(), images::collect::Usage::default());
    assert_eq!(store.list().unwrap(), [], "all platforms went, also those of the inner index");
}
