//! A registry and a network that misbehave: the right image or a clear error, and never a damaged store.

use std::error::Error;
use std::time::{Duration, Instant};

use images::hosts::Hosts;
use images::keyring::Keyring;
use images::{Access, Caller, ImageError, Progress};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Auth, Fault, TOKEN_PATH, Wrong};

use crate::support::{Heard, World, image_of, lower, mounted, pull_by};

const BLOBS: &str = "/v2/*/blobs/*";
const MANIFESTS: &str = "/v2/*/manifests/*";
/// What a layer of 200,000 bytes takes at least, when it comes at that rate.
const SLOW: Duration = Duration::from_millis(800);
/// Longer than a busy machine takes to say something; the case that has it says it in words.
const SILENCE: Duration = Duration::from_secs(9);

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
        Wrong::Slow { bytes_per_second: 200_000 },
    ] {
        let world = World::with(&image_of(0..4, 200_000));
        // Behind the configuration, which is small: a layer.
        world.registry.fault(Fault::new(wrong.clone()).method("GET").path(BLOBS).after(1).times(1));
        let (heard, begun) = (Heard::default(), Instant::now());
        let pulled = world.pull_telling("try/app:1", Caller { tell: &heard.tell(), gave_up: &|| false });
        pulled.unwrap_or_else(|error| panic!("{wrong:?}: {error:?}"));
        let took = begun.elapsed();
        assert_right(&world);
        let why = retries(heard);
        match wrong {
            Wrong::Slow { .. } => assert!(why.is_empty() && took > SLOW, "{took:?} {why:?}"),
            Wrong::Flip { .. } => assert!(why.iter().any(|why| why.contains("damaged")), "{why:?}"),
            _ => assert_eq!(why.len(), 1, "{wrong:?}: {why:?}"),
        }
    }
}

fn retries(heard: Heard) -> Vec<String> {
    let why = |progress| match progress {
        Progress::Retrying { why, .. } => Some(why),
        _ => None,
    };
    heard.all().into_iter().filter_map(why).collect()
}

/// The registry takes it for some blobs and refuses it for the next one, as when its time is over.
#[test]
fn a_token_that_is_refused_in_the_middle_of_a_pull_is_renewed() {
    let (user, password) = ("jane", "hunter2");
    let lifetime = Duration::from_secs(600);
    let world = World::asking(Auth::Token { user: user.into(), password: password.into(), lifetime });
    world.registry.push(&image_of(0..4, 200_000), "try/app:1").unwrap();
    let address = world.registry.address().to_string();
    let challenge = format!("Bearer realm=\"http://{address}{TOKEN_PATH}\",service=\"testbed\"");
    let refused = Fault::new(Wrong::unauthorized(&challenge)).method("GET").path(BLOBS);
    world.registry.fault(refused.after(2).times(1));
    let keyring = Keyring::default().with_password(&address, user, password);
    let (access, heard) = (Access { keyring, ..Access::default() }, Heard::default());
    let caller = |tell| Caller { tell, gave_up: &|| false };
    let pulled =
        pull_by(&access, &world.store(), &world.reference("try/app:1"), caller(&heard.tell())).unwrap();
    assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "34\n");
    world.assert_sound(false);
    let requests = world.registry.requests();
    let tokens = requests.iter().filter(|request| request.path.starts_with(TOKEN_PATH));
    assert_eq!(tokens.map(|request| request.status).collect::<Vec<_>>(), [200, 200]);
    let blobs = requests.iter().filter(|request| request.path.contains("/blobs/"));
    let mut statuses: Vec<_> = blobs.map(|request| request.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 401]);
    assert_eq!(retries(heard), Vec::<String>::new(), "a new token is no failure");
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

/// Some of the image has come when the rest is refused: it is no image, and the next pull is right.
#[test]
fn what_a_registry_keeps_doing_is_said_and_leaves_nothing_wrong() {
    let status = |code| Wrong::Status { code, headers: Vec::new() };
    let cases = [
        (BLOBS, Wrong::unauthorized("Basic realm=\"x\""), "wants a login (401)"),
        (BLOBS, status(403), "refused it (403"),
        (BLOBS, status(429), "takes no more requests from here now (429)"),
        (BLOBS, Wrong::server_error(), "answered 500"),
        (BLOBS, Wrong::Close, "could not be asked"),
        (BLOBS, Wrong::Cut { after: 1000 }, "broke in the middle of sha256:"),
        (BLOBS, Wrong::Stall { after: 1000 }, "nothing came for 9s after byte 3000 of "),
        (MANIFESTS, Wrong::Cut { after: 100 }, "broke in the middle of manifest 1"),
    ];
    // At once, because most of it is waiting.
    std::thread::scope(|scope| {
        for (path, wrong, words) in cases {
            scope.spawn(move || keeps_doing(path, wrong, words));
        }
    });
}

fn keeps_doing(path: &str, wrong: Wrong, words: &str) {
    let world = World::with(&image_of(0..4, 200_000));
    let come = if path == BLOBS { 2 } else { 0 };
    let hosts = match wrong {
        Wrong::Stall { .. } => Hosts::default().with_silence(SILENCE),
        _ => Hosts::default(),
    };
    world.registry.fault(Fault::new(wrong).method("GET").path(path).after(come));
    let access = Access { hosts, ..Access::default() };
    let reference = world.reference("try/app:1");
    let error = pull_by(&access, &world.store(), &reference, Caller::silent()).unwrap_err();
    let ImageError::Pull { .. } = &error else { panic!("{words}: {error:?}") };
    assert!(told(&error).contains(words), "{words}: {}", told(&error));
    assert_eq!(world.store().list().unwrap(), [], "{words}");
    assert!(world.store().content().names().all().unwrap().is_empty(), "{words}");
    world.assert_sound(true);
    world.registry.clear_faults();
    assert_right(&world);
}

/// An error and its causes.
fn told(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", told(cause)),
        None => error.to_string(),
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
