//! Images for several platforms, and indexes that list indexes.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use images::collect::{Disk, Thresholds, Usage};
use images::digest::Digest;
use images::platform::{Host, Isolation};
use images::store::Every;
use images::transfer::{Chosen, Format, Package, Platforms, Target, TransferError, import, save};
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
    pull_every_of(world, "try/app:1", caller)
}

fn pull_every_of(world: &World, name: &str, caller: Caller<'_>) -> Result<Every, ImageError> {
    let (reference, access) = (world.reference(name), Access::default());
    let (source, host) = (Source::Reference(reference.clone()), Host::new("linux", "amd64"));
    let isolation = Isolation::HostProcess;
    let wanted = Wanted { source: &source, policy: None, host: &host, isolation, access: &access, pin: None };
    world.store().pull_every(&reference, &wanted, true, caller)
}

/// Whether all platforms are here, to be saved.
fn assert_saved_whole(world: &World, every: &Every) {
    let path = world.dir().parent().unwrap().join("all.tar");
    save_as(world, "try/app:1", &every.target, Format::OciArchive, &path).unwrap();
}

fn save_as(
    world: &World,
    name: &str,
    target: &Digest,
    format: Format,
    path: &Path,
) -> Result<(), TransferError> {
    let chosen = [Chosen { name: Some(world.reference(name)), target: target.clone() }];
    let (store, file) = (world.store(), Target::File(path));
    save(store.content(), &chosen, &Platforms::All, format, file, Caller::silent()).map(drop)
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
            store.content().collect(&Thresholds::ALL, Disk { total: 1 << 40, available: 0 }).unwrap();
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
    assert_eq!(store.content().usage().unwrap(), Usage::default());
    assert_eq!(store.list().unwrap(), [], "all platforms went, also those of the inner index");
}

/// The manifest that the archive was given took the place of the first one in the record, and the next collection took
/// the first one's layers, though its name was there.
#[test]
fn an_image_that_is_loaded_from_an_archive_keeps_the_blobs_of_its_first_name() {
    let world = World::with(&image("linux", "amd64"));
    world.pull("try/app:1").unwrap();
    let (store, dir) = (world.store(), tempfile::tempdir().unwrap());
    let names = || store.content().names().all().unwrap();
    let first = names().values().next().unwrap().target.clone();
    let path = dir.path().join("x.tar");
    save_as(&world, "try/app:1", &first, Format::DockerArchive, &path).unwrap();

    let package = Package::open(&path, dir.path()).unwrap();
    let imported = import(&package, store.content(), Caller::silent()).unwrap();
    let second = Digest::parse(&imported.images[0].root.digest).unwrap();
    let reference = world.reference("try/app:2");
    let (source, access) = (Source::Reference(reference.clone()), Access::default());
    let (host, isolation) = (Host::new("linux", "amd64"), Isolation::HostProcess);
    let wanted = Wanted { source: &source, policy: None, host: &host, isolation, access: &access, pin: None };
    store.adopt(&second, &[reference], &wanted, true, Caller::silent()).unwrap();
    drop(imported);

    let before = store.content().usage().unwrap();
    let disk = Disk { total: 1 << 40, available: 1 << 40 };
    assert_eq!(store.content().collect(&Thresholds::default(), disk).unwrap().bytes, 0);
    assert_eq!((names().len(), store.list().unwrap().len(), first == second), (2, 1, false));
    for (name, target) in [("try/app:1", &first), ("try/app:2", &second)] {
        save_as(&world, name, target, Format::OciArchive, &dir.path().join("y.tar")).unwrap();
    }
    world.assert_sound(false);
    let remove = |name| store.remove(&world.reference(name).to_string(), false).unwrap().bytes;
    let (one, two) = (remove("try/app:1"), remove("try/app:2"));
    assert!(one > 0 && one + two == before.bytes, "{one} and {two} of {before:?}");
    assert_eq!(store.content().usage().unwrap(), Usage::default());
}

/// With the first name went the platform that both have.
#[test]
fn a_platform_that_two_indexes_list_stays_until_both_are_gone() {
    let shared = image("linux", "arm64");
    let world = World::new();
    let store = world.store();
    let mut came = Vec::new();
    for (name, word) in [("try/app:1", "one"), ("try/app:2", "two")] {
        let layer = Layer::new().file("app", word, 0o755);
        let own = ImageBuilder::new("linux", "amd64").layer(layer).build().unwrap();
        world.registry.push(&Image::index(&[own, shared.clone()]), name).unwrap();
        came.push(pull_every_of(&world, name, Caller::silent()).unwrap());
    }
    let remove = |name| store.remove(&world.reference(name).to_string(), false).unwrap();
    assert!(remove("try/app:1").image.is_some());
    let path = world.dir().parent().unwrap().join("two.tar");
    save_as(&world, "try/app:2", &came[1].target, Format::OciArchive, &path).unwrap();
    world.assert_sound(false);
    remove("try/app:2");
    assert_eq!(store.content().usage().unwrap(), Usage::default());
    assert_eq!(store.list().unwrap(), []);
}
