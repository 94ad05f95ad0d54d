use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::record::{Layer, Record};

mod ingest;
mod layers;
mod power;

pub(crate) struct World {
    _dir: tempfile::TempDir,
    pub(crate) content: Content,
}

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let content = Content::open(&dir.path().join("images")).unwrap();
        World { _dir: dir, content }
    }

    /// As it is found after the machine was off for a moment.
    pub(crate) fn rebooted(&self) -> Content {
        Content::open_in(self.content.dir(), "another boot".into()).unwrap()
    }

    pub(crate) fn again(&self) -> Content {
        Content::open(self.content.dir()).unwrap()
    }

    pub(crate) fn flight(&self, key: Key) -> Flight {
        self.content.flight(key, &|| false).unwrap()
    }

    /// An old image of one layer, unpacked.
    pub(crate) fn image(&self, name: &str) -> Arc<Record> {
        self.image_with(name, &[name])
    }

    /// One without layers.
    pub(crate) fn bare_image(&self, name: &str) -> Arc<Record> {
        self.image_with(name, &[])
    }

    pub(crate) fn image_with(&self, name: &str, layers: &[&str]) -> Arc<Record> {
        let content = &self.content;
        let layers = layers.iter().map(|layer| self.layer(layer)).collect();
        let (config, manifest) = (format!("config {name}"), format!("manifest {name}"));
        let record = Record {
            id: content.put(config.as_bytes()).unwrap(),
            config_size: config.len() as u64,
            manifest: content.put(manifest.as_bytes()).unwrap(),
            manifest_size: manifest.len() as u64,
            media_type: None,
            layers,
            platform: crate::document::Platform::new("linux", "amd64"),
            runs: crate::document::Runs::default(),
            labels: std::collections::BTreeMap::new(),
            created: None,
            pulled: 1_000_000_000,
            form: crate::record::Form::Layers,
        };
        content.put_record(&record).unwrap();
        content.record(&record.id).unwrap().unwrap()
    }

    fn layer(&self, name: &str) -> Layer {
        let (blob, diff_id) = (format!("packed {name}"), Digest::of(format!("layer {name}").as_bytes()));
        let digest = self.content.put(blob.as_bytes()).unwrap();
        if self.content.layer(&diff_id).unwrap().is_none() {
            let _flight = self.flight(Key::Layer(diff_id.clone()));
            let unfinished = self.content.new_layer(&diff_id).unwrap();
            std::fs::write(unfinished.files().join("name"), name).unwrap();
            let size = name.len() as u64;
            unfinished.commit(Note { size, entries: 1, ..Note::default() }).unwrap();
        }
        Layer { digest, diff_id, size: blob.len() as u64, media_type: None, urls: Vec::new() }
    }

    pub(crate) fn files(&self, room: &str) -> Vec<String> {
        names(&self.content.room(room))
    }

    /// Lock files of things that are being made.
    pub(crate) fn flights(&self) -> Vec<String> {
        self.files(LOCKS).into_iter().filter(|name| name.contains('-')).collect()
    }
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut found: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort();
    found
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_document_is_kept_once_and_read_back() {
    let world = World::new();
    let digest = world.content.put(b"{}").unwrap();
    assert_eq!(world.content.put(b"{}").unwrap(), digest);
    assert_eq!(world.content.blob_size(&digest), Some(2));
    assert_eq!(text(world.content.blob(&digest).unwrap().unwrap()), "{}");
    assert_eq!(world.content.document(&digest).unwrap().unwrap(), b"{}");
    assert!(world.content.blob(&Digest::of(b"other")).unwrap().is_none());
    assert!(world.files(INGEST).is_empty() && world.flights().is_empty(), "{:?}", world.flights());
}

#[test]
fn a_document_that_rotted_is_not_read() {
    let world = World::new();
    let digest = world.content.put(b"{}").unwrap();
    std::fs::write(world.content.blob_path(&digest), "[]").unwrap();
    let error = world.content.document(&digest).unwrap_err();
    assert!(matches!(error, DepotError::Damaged { .. }), "{error}");
}

#[test]
fn an_open_blob_can_be_deleted_and_read_to_its_end() {
    let world = World::new();
    let digest = world.content.put(b"still here").unwrap();
    let open = world.content.blob(&digest).unwrap().unwrap();
    world.content.discard(&world.content.blob_path(&digest)).unwrap();
    world.content.empty_trash().unwrap();
    assert!(world.content.blob(&digest).unwrap().is_none());
    assert_eq!(text(open), "still here");
    assert!(world.files(TRASH).is_empty());
}

#[test]
fn one_at_a_time_has_a_flight() {
    let world = World::new();
    let key = Key::Layer(Digest::of(b"x"));
    let (inside, had) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let _flight = world.flight(key.clone());
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                had.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(had.load(Ordering::SeqCst), 16);
    assert!(world.flights().is_empty(), "{:?}", world.flights());
}

#[test]
fn a_flight_of_another_kind_or_digest_is_another_one() {
    let world = World::new();
    let digest = Digest::of(b"x");
    let _flights = [Key::Blob(digest.clone()), Key::Layer(digest.clone()), Key::Flat(digest)]
        .map(|key| world.content.try_flight(&key).unwrap().expect("free"));
}

#[test]
fn who_gives_up_waits_no_longer_for_a_flight() {
    let world = World::new();
    let key = Key::Blob(Digest::of(b"x"));
    let _flight = world.flight(key.clone());
    let asked = AtomicU32::new(0);
    let error = world.content.flight(key, &|| asked.fetch_add(1, Ordering::SeqCst) == 2).unwrap_err();
    assert!(matches!(error, DepotError::GaveUp(_)), "{error}");
    assert!(error.to_string().contains(Digest::of(b"x").as_str()), "{error}");
}

#[test]
fn nobody_makes_a_thing_without_its_flight() {
    let world = World::new();
    let digest = Digest::of(b"x");
    let refused = [
        world.content.ingest(&digest, 1).map(drop).unwrap_err(),
        world.content.new_layer(&digest).map(drop).unwrap_err(),
        world.content.new_flat(&digest).map(drop).unwrap_err(),
    ];
    assert!(refused.iter().all(|error| matches!(error, DepotError::NoFlight(_))), "{refused:?}");
    assert!(world.flights().is_empty() && world.files(INGEST).is_empty());
}

/// Ten pulls of one image ended together, each found no record, and each wrote it: one sync after the other.
#[test]
fn a_record_that_came_while_waiting_for_the_lock_is_not_written_again() {
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let world = World::new();
    let record = world.bare_image("pulled by two");
    let (path, used) = (world.content.record_path(&record.id), world.content.used_path(&record.id));
    let (bytes, lock) = (std::fs::read(&path).unwrap(), world.content.lock_path(INDEX_LOCK));
    // Nobody tells when the other one has come as far as the lock: it is tried until it surely has.
    for _ in 0..20 {
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&used).unwrap();
        let held = os::lock::Held::take(&lock, os::lock::Mode::Exclusive).unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| world.again().put_record(&record).unwrap());
            while !used.exists() {
                std::thread::yield_now();
            }
            os::file::write_durable(&path, &bytes).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
            drop(held);
            waiter.join().unwrap();
        });
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), long_ago, "it was replaced");
    }
}
