//! Pulls from a place that breaks when it is told to: what is kept for the next try, and what is given back.

use std::io::{self, Read};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use super::*;
use crate::blobs::Root;
use crate::content::tests::World;
use crate::sample::tar_of;
use crate::unpack::UnpackError;

const HOUR: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the parts of one image lie.
struct Shelf<'a> {
    root: Vec<u8>,
    blobs: Vec<Vec<u8>>,
    /// The blob that never comes, and what happens before that is said.
    missing: Option<(Digest, &'a (dyn Fn() + Sync))>,
    /// So many answers are still damaged.
    damaged: AtomicU32,
}

// === impl Shelf ===

impl Shelf<'_> {
    fn of(root: String, blobs: &[&[u8]]) -> Shelf<'static> {
        let blobs = blobs.iter().map(|blob| blob.to_vec()).collect();
        Shelf { root: root.into_bytes(), blobs, missing: None, damaged: AtomicU32::new(0) }
    }
}

impl Blobs for Shelf<'_> {
    type Error = ContentError;

    const DAMAGED_AGAIN: u32 = 2;

    fn root(&self) -> Result<Root, ContentError> {
        Ok(Root { bytes: self.root.clone(), media_type: None })
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, ContentError> {
        Err(ContentError::Missing(wanted.digest.clone()))
    }

    fn size(&self, wanted: &Descriptor) -> Result<u64, ContentError> {
        wanted.size.ok_or_else(|| ContentError::Missing(wanted.digest.clone()))
    }

    fn stream(&self, wanted: &Descriptor, from: u64) -> Result<Box<dyn Read + Send + '_>, ContentError> {
        let gone = || ContentError::Missing(wanted.digest.clone());
        let missing = self.missing.as_ref().filter(|(digest, _)| digest.as_str() == wanted.digest);
        if let Some((_, before)) = missing {
            before();
            return Err(gone());
        }
        let found = self.blobs.iter().find(|blob| Digest::of(blob).as_str() == wanted.digest);
        let from = usize::try_from(from).expect("within a blob");
        let mut rest = found.ok_or_else(gone)?[from..].to_vec();
        let one_less = |left: u32| left.checked_sub(1);
        if self.damaged.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            *rest.last_mut().unwrap() ^= 1;
        }
        Ok(Box::new(io::Cursor::new(rest)))
    }

    fn damaged(&self, _wanted: &Digest) {}

    fn broken(error: io::Error) -> ContentError {
        ContentError::Missing(error.to_string())
    }
}

fn bad(source: ContentError) -> ImageError {
    ImageError::Stored { image: Digest::of(b"app"), source }
}

fn pull<'a>(content: &'a Content, blobs: &'a Shelf<'a>, halt: &'a Halt<'a>) -> Pull<'a, Shelf<'a>> {
    Pull { content, blobs, marks: None, name: "app", caller: Caller::silent(), halt, bad: &bad }
}

fn descriptor(blob: &[u8]) -> Descriptor {
    let (digest, size) = (Digest::of(blob).to_string(), Some(blob.len() as u64));
    Descriptor { digest, size, platform: None, media_type: None, urls: Vec::new() }
}

/// As if it had come two hours ago.
fn age(content: &Content, digest: &Digest) {
    let file = std::fs::File::options().write(true).open(content.blob_path(digest)).unwrap();
    file.set_modified(SystemTime::now() - 2 * HOUR).unwrap();
}

/// Of a large image over a bad line each try began anew, once the first was longer ago than upkeep waits.
#[test]
fn upkeep_spares_what_a_pull_asked_for_lately_however_early_it_came() {
    let (world, halt) = (World::new(), Halt::new(Caller::silent()));
    let [wanted, forgotten] = [b"wanted again", b"is forgotten"].map(|blob| world.content.put(blob).unwrap());
    for digest in [&wanted, &forgotten] {
        age(&world.content, digest);
    }
    let nothing = Shelf::of(String::new(), &[]);
    pull(&world.content, &nothing, &halt).fetch(&descriptor(b"wanted again"), &wanted).unwrap();
    assert_eq!(world.content.tend(HOUR).unwrap(), 12, "one of the two goes");
    let here = [&wanted, &forgotten].map(|digest| world.content.blob(digest).unwrap().is_some());
    assert_eq!(here, [true, false]);
}

/// An image of two layers; its root and its configuration.
fn image_of(layers: [&[u8]; 2]) -> (String, String) {
    let ids = layers.map(|layer| Digest::of(layer).to_string());
    let config =
        serde_json::json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": ids}}).to_string();
    let entry = |blob: &[u8]| serde_json::json!({"digest": Digest::of(blob), "size": blob.len()});
    let root = serde_json::json!({"config": entry(config.as_bytes()), "layers": layers.map(entry)});
    (root.to_string(), config)
}

#[test]
fn what_came_early_in_a_long_try_is_young_when_the_try_fails() {
    let (world, halt) = (World::new(), Halt::new(Caller::silent()));
    let (content, layers) = (&world.content, [b"comes".as_slice(), b"never comes".as_slice()]);
    let [early, never] = layers.map(Digest::of);
    let hours_later: &(dyn Fn() + Sync) = &|| {
        let begun = Instant::now();
        while content.blob_size(&early).is_none() {
            assert!(begun.elapsed() < PATIENCE, "the other layer does not come");
            std::thread::yield_now();
        }
        age(content, &early);
    };
    let (root, config) = image_of(layers);
    let whole = Shelf::of(root, &[layers[0], config.as_bytes()]);
    let shelf = Shelf { missing: Some((never, hours_later)), ..whole };
    let (host, isolation) = (Host::new("linux", "amd64"), Isolation::HostProcess);
    let failed = pull(content, &shelf, &halt).run(&host, isolation, false).err().expect("a layer is missing");
    assert!(matches!(failed, ImageError::Stored { source: ContentError::Missing(_), .. }), "{failed:?}");
    assert_eq!(content.tend(HOUR).unwrap(), 0);
    assert!(content.blob(&early).unwrap().is_some());
}

/// Whether a layer of many directories gets along with so much memory for names, if so many copies of it are damaged
/// before a sound one comes.
fn finds_room(names: usize, damaged: u32) -> bool {
    let paths: Vec<String> = (0..20).map(|number| format!("{number}/file")).collect();
    let layer = tar_of(&paths.iter().map(|path| (path.as_str(), "body")).collect::<Vec<_>>());
    let (world, halt) = (World::new(), Halt::within(names, Caller::silent()));
    let sound = Shelf::of(String::new(), &[&layer]);
    let shelf = Shelf { damaged: AtomicU32::new(damaged), ..sound };
    let digest = Digest::of(&layer);
    let part = Part { blob: descriptor(&layer), digest: digest.clone(), diff_id: digest };
    match pull(&world.content, &shelf, &halt).layer(&part, Marks::User) {
        Ok(stands) => stands,
        Err(ImageError::Layer { source: UnpackError::Names { .. }, .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// They were counted again with each copy, and images that had room failed after one.
#[test]
fn the_names_of_a_damaged_copy_leave_their_room_to_the_next_copy() {
    let enough = (10..30).map(|bits| 1 << bits).find(|names| finds_room(*names, 0)).expect("room enough");
    assert!(!finds_room(enough / 2, 0), "it holds two copies at once");
    assert!(finds_room(enough, 2));
}
