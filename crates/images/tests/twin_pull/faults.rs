//! A registry and a network that misbehave: the right image or a clear error, and never a damaged store.

use std::time::Duration;

use images::hosts::Hosts;
use images::{Access, Caller, ImageError, Progress};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Fault, Wrong};

use crate::support::{Heard, World, image_of, lower, mounted, pull_by};

const BLOBS: &str = "/v2/*/blobs/*";

fn assert_right(world: &World) {
    let image = world.pull("try/app:1").unwrap();
    assert_eq!(lower(&image).len(), 4);
    assert_eq!(mounted(&image, "cat etc/last; ls data | wc -l"), "34\n");
    world.assert_sound(false);
}

#[test]
fn what_passes_is_gone_through() {
    for wrong in [
        Wrong::Cut { after: 50_000 },
        Wrong::Flip { at: 70_000 },
        Wrong::server_error(),
        Wrong::too_many_requests(Duration::from_secs(1)),
        Wrong::Close,
    ] {
        let world = World::with(&image_of(0..4, 200_000));
        world.registry.fault(Fault::new(wrong.clone()).method("GET").path(BLOBS).times(1));
        let heard = Heard::default();
        let pulled = world.pull_telling("try/app:1", Caller { tell: &heard.tell(), gave_up: &|| false });
        pulled.unwrap_or_else(|error| panic!("{wrong:?}: {error:?}"));
        assert_right(&world);
        if matches!(wrong, Wrong::Flip { .. }) {
            let heard = heard.all();
            let again = |progress: &Progress| matches!(progress, Progress::Retrying { why, .. } if why.contains("damaged"));
            assert!(heard.iter().any(again), "{heard:?}");
        }
    }
}

/// A mirror that holds damaged copies is no reason not to have the image while the registry itself has it; one try each
/// is what it costs, for blobs that come as a whole and for those that come in parts.
#[test]
fn a_mirror_with_damaged_blobs_is_left_for_the_registry() {
    for size in [200_000, 20 << 20] {
        let image = image_of(0..2, size);
        let (world, mirror) = (World::with(&image), World::with(&image));
        mirror.registry.fault(Fault::new(Wrong::Flip { at: 70_000 }).method("GET").path(BLOBS));
        let certs = tempfile::tempdir().unwrap();
        let dir = certs.path().join(format!("{}_", world.registry.address().to_string().replace(':', "_")));
        std::fs::create_dir(&dir).unwrap();
        let text = format!("[host.\"http://{}\"]\n", mirror.registry.address());
        std::fs::write(dir.join("hosts.toml"), text).unwrap();
        let access = Access { hosts: Hosts::default().with_dir(certs.path()), ..Access::default() };
        let heard = Heard::default();
        let reference = world.reference("try/app:1");
        let caller = |tell| Caller { tell, gave_up: &|| false };
        let pulled = pull_by(&access, &world.store(), &reference, caller(&heard.tell())).unwrap();
        assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "12\n");
        assert!(!mirror.moved().0.is_empty(), "the mirror was not asked");
        let again = |progress: &&Progress| matches!(progress, Progress::Retrying { why, .. } if why.contains("damaged"));
        let (heard, blobs) = (heard.all(), image.blobs().len());
        let tries = heard.iter().filter(again).count();
        assert!((1..=blobs).contains(&tries), "{heard:?}");
        world.assert_sound(false);
    }
}

/// What is damaged every time is refused, whatever part of the layer it is in, and nothing of it is kept.
#[test]
fn what_stays_wrong_is_an_error_and_leaves_nothing_wrong() {
    for at in [3, 70_000, usize::MAX] {
        let world = World::with(&image_of(0..4, 200_000));
        world.registry.fault(Fault::new(Wrong::Flip { at }).method("GET").path(BLOBS).after(1));
        let error = world.pull("try/app:1").unwrap_err();
        let ImageError::Pull { source, .. } = &error else { panic!("{error:?}") };
        assert!(source.to_string().contains("it is damaged"), "{at}: {error:?}");
        assert_eq!(world.store().list().unwrap(), [], "{at}");
        world.assert_sound(true);
        world.registry.clear_faults();
        assert_right(&world);
    }
}

#[test]
fn the_first_layer_that_fails_ends_the_others() {
    let image = image_of(0..4, 3_000_000);
    let world = World::with(&image);
    let digest = layer_digest(&image, 0);
    world
        .registry
        .fault(Fault::new(Wrong::Status { code: 404, headers: Vec::new() }).path(&format!("*{digest}")));
    world.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 100_000 }).path(BLOBS));
    let begun = std::time::Instant::now();
    let error = world.pull("try/app:1").unwrap_err();
    assert!(begun.elapsed() < Duration::from_secs(15), "the others went on: {:?}", begun.elapsed());
    assert!(format!("{error:?}").contains("NotFound"), "{error:?}");
    world.registry.clear_faults();
    assert_right(&world);
}

/// Before a byte of a layer is looked at, its documents must agree; and a layer must be what the configuration says.
#[test]
fn an_image_that_contradicts_itself_is_refused() {
    let digest = |text: &str| testbed::image::digest(text.as_bytes());
    let image = || ImageBuilder::new("linux", "amd64").layer(Layer::new().file("a", "a", 0o644));
    let world = World::with(&image().diff_ids(&[digest("other")]).build().unwrap());
    let error = world.pull("try/app:1").unwrap_err();
    assert!(matches!(error, ImageError::DiffId { .. }), "{error:?}");
    world.assert_sound(true);
    let two = image().diff_ids(&[digest("one"), digest("two")]).build().unwrap();
    world.registry.push(&two, "try/app:2").unwrap();
    let error = format!("{:?}", world.pull("try/app:2").unwrap_err());
    assert!(error.contains("DiffIds { layers: 1, diff_ids: 2 }"), "{error}");
    let foreign = ImageBuilder::new("linux", "s390x").layer(Layer::new().file("a", "a", 0o644));
    world.registry.push(&foreign.build().unwrap(), "try/app:3").unwrap();
    let error = format!("{:?}", world.pull("try/app:3").unwrap_err());
    assert!(error.contains("NoMatch") && error.contains("linux/s390x"), "{error}");
    assert_eq!(world.store().list().unwrap(), []);
}

fn layer_digest(image: &Image, number: usize) -> String {
    let manifest: serde_json::Value = serde_json::from_slice(&image.documents()[0].bytes).unwrap();
    manifest["layers"][number]["digest"].as_str().unwrap().to_owned()
}
