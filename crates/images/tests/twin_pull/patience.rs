//! Who gives up gets an answer at once, and the next one goes on from there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use images::{Caller, ImageError, Progress, Stage};
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Fault, Wrong};

use crate::support::{World, count, image_of, lower, mounted, noise, total};

const BLOBS: &str = "/v2/*/blobs/*";

#[test]
fn a_pull_that_is_given_up_ends_at_once_and_is_resumed() {
    let image = image_of(0..3, 4_000_000);
    let world = World::with(&image);
    world.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 2_000_000 }).path(BLOBS));
    let enough = AtomicBool::new(false);
    let tell = |progress: &Progress| {
        if let Progress::Layer { done, stage: Stage::Downloading, .. } = progress
            && *done > 1_000_000
        {
            enough.store(true, Ordering::Relaxed);
        }
    };
    let asked_at = std::sync::Mutex::new(None);
    let gave_up = || {
        let enough = enough.load(Ordering::Relaxed);
        if enough {
            asked_at.lock().unwrap().get_or_insert_with(Instant::now);
        }
        enough
    };
    let error = world.pull_telling("try/app:1", Caller { tell: &tell, gave_up: &gave_up }).unwrap_err();
    assert!(matches!(error, ImageError::GaveUp { .. }), "{error:?}");
    let took = asked_at.into_inner().unwrap().expect("it was asked").elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(count(&world.dir().join("ingest")) > 0, "nothing was kept");
    assert_eq!(world.store().list().unwrap(), []);
    world.registry.clear_faults();
    let before = world.moved().1;
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "23\n");
    assert_eq!(lower(&pulled).len(), 3);
    // What was on its way when it was given up is lost, and that is little.
    let (_, bytes) = world.moved();
    let allowed = total(&image) + 3 * (1 << 20);
    assert!(
        before > 1_000_000 && bytes <= allowed,
        "{bytes} bytes moved, {before} of them before; wanted {allowed}"
    );
    world.assert_sound(false);
}

/// The blob has come and thousands of files are still to be made: nobody waits for those, and the next pull asks the
/// registry for nothing.
#[test]
fn who_gives_up_while_a_layer_is_unpacked_does_not_wait_for_its_end() {
    const FILES: u64 = 4_000;
    // As many bytes as are read at several times: at each it is asked whether to go on.
    let many = |layer: Layer, number: u64| layer.file(&format!("data/{number}"), noise(number, 900), 0o644);
    let layer = (0..FILES).fold(Layer::new(), many);
    let image = ImageBuilder::new("linux", "amd64").layer(layer).build().unwrap();
    let world = World::with(&image);
    let enough = AtomicBool::new(false);
    let tell = |progress: &Progress| {
        let unpacking = matches!(progress, Progress::Layer { stage: Stage::Unpacking, .. });
        enough.fetch_or(unpacking, Ordering::Relaxed);
    };
    let gave_up = || enough.load(Ordering::Relaxed);
    let error = world.pull_telling("try/app:1", Caller { tell: &tell, gave_up: &gave_up }).unwrap_err();
    assert!(matches!(error, ImageError::GaveUp { .. }), "{error:?}");
    assert_eq!(count(&world.dir().join("layers")), 0, "it was unpacked all the same");
    let before = world.moved().1;
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(world.moved().1, before, "what had come was asked for again");
    assert_eq!(mounted(&pulled, "ls data | wc -l"), format!("{FILES}\n"));
    world.assert_sound(false);
}

/// Somebody who waits for another one's layer can give up too, and does not end the other.
#[test]
fn who_waits_for_another_may_give_up() {
    let image = image_of(0..1, 2_000_000);
    let world = World::with(&image);
    world.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 1_000_000 }).path(BLOBS));
    let begun = AtomicBool::new(false);
    let tell = |progress: &Progress| {
        let downloading = matches!(progress, Progress::Layer { stage: Stage::Downloading, .. });
        begun.fetch_or(downloading, Ordering::Release);
    };
    std::thread::scope(|scope| {
        let first =
            scope.spawn(|| world.pull_telling("try/app:1", Caller { tell: &tell, gave_up: &|| false }));
        let deadline = Instant::now() + Duration::from_secs(20);
        while !begun.load(Ordering::Acquire) {
            assert!(Instant::now() < deadline, "the first pull does not begin");
            std::thread::yield_now();
        }
        let waits = AtomicBool::new(false);
        let tell = |progress: &Progress| {
            waits.fetch_or(
                matches!(progress, Progress::Layer { stage: Stage::Waiting, .. }),
                Ordering::Relaxed,
            );
        };
        let gave_up = || waits.load(Ordering::Relaxed);
        let error = world.pull_telling("try/app:1", Caller { tell: &tell, gave_up: &gave_up }).unwrap_err();
        assert!(matches!(error, ImageError::GaveUp { .. }), "{error:?}");
        first.join().unwrap().unwrap();
    });
    world.assert_sound(false);
}
