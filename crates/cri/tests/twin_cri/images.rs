//! Images: pulled with a login by tag and by digest, listed, removed.

use cri::api::image_service_server::ImageService;
use cri::api::*;
use testbed::registry::{Auth, Options, Registry};
use tonic::Code;

use crate::world::{IMAGE, World, eventually, fixture_image};

fn spec(image: &str) -> Option<ImageSpec> {
    Some(ImageSpec { image: image.to_owned(), ..ImageSpec::default() })
}

fn status(world: &World, image: &str) -> Option<Image> {
    world.ok(world.images().image_status(ImageStatusRequest { image: spec(image), verbose: false })).image
}

// proves: RT-01 twin
#[test]
fn an_image_comes_with_the_login_of_the_request_by_tag_and_by_digest() {
    let auth = Auth::Basic { user: "jane".into(), password: "hunter2".into() };
    let registry = Registry::start(Options { auth }).unwrap();
    registry.push(&fixture_image(), "try/app:1").unwrap();
    let world = World::new();
    world.ok(world.images().remove_image(RemoveImageRequest { image: spec(IMAGE) }));
    let name = format!("{}/try/app:1", registry.address());
    let pull = |image: &str, password: &str| PullImageRequest {
        image: spec(image),
        auth: Some(AuthConfig { username: "jane".into(), password: password.into(), ..Default::default() }),
        sandbox_config: None,
    };
    let nobody = PullImageRequest { image: spec(&name), ..Default::default() };
    world.refused(world.images().pull_image(nobody), Code::Unauthenticated);
    let said = world.refused(world.images().pull_image(pull(&name, "wrong")), Code::Unauthenticated);
    assert!(!said.contains("wrong"), "{said}");
    let id = world.ok(world.images().pull_image(pull(&name, "hunter2"))).image_ref;
    let image = status(&world, &name).unwrap();
    assert_eq!((&image.id, image.repo_tags.as_slice()), (&id, [name.clone()].as_slice()));
    assert!(image.size > 0);
    let by_digest = image.repo_digests[0].clone();
    assert!(by_digest.contains("/try/app@sha256:"), "{by_digest}");
    assert_eq!(status(&world, &by_digest).unwrap().id, id);
    assert_eq!(status(&world, &id).unwrap().id, id, "by its id");
    assert_eq!(status(&world, &id["sha256:".len()..][..12]).unwrap().id, id, "by the beginning of its id");
    world.ok(world.images().remove_image(RemoveImageRequest { image: spec(&name) }));
    assert_eq!(status(&world, &by_digest), None, "with all its names");
    assert_eq!(world.ok(world.images().pull_image(pull(&by_digest, "hunter2"))).image_ref, id);
    let image = status(&world, &by_digest).unwrap();
    assert_eq!((image.repo_digests.as_slice(), image.repo_tags.len()), ([by_digest.clone()].as_slice(), 0));
    let auth = AuthConfig { auth: "amFuZTpodW50ZXIy".into(), ..Default::default() };
    let encoded = PullImageRequest { image: spec(&name), auth: Some(auth), sandbox_config: None };
    assert_eq!(world.ok(world.images().pull_image(encoded)).image_ref, id, "a login as docker writes it");
    let missing = format!("{}/try/none:1", registry.address());
    world.refused(world.images().pull_image(pull(&missing, "hunter2")), Code::NotFound);
    for nowhere in ["1.2.3.400/try/hello:1", "c27.0.0.1:5000/try/hello:1"] {
        let said = world.refused(world.images().pull_image(pull(nowhere, "hunter2")), Code::InvalidArgument);
        assert!(said.contains("is no address of a registry"), "{said}");
    }
}

#[test]
fn a_pull_is_given_up_when_its_time_is_over() {
    let registry = Registry::start(Options::default()).unwrap();
    registry.push(&fixture_image(), "try/app:1").unwrap();
    let world = World::new();
    let name = format!("{}/try/app:1", registry.address());
    let mut request = tonic::Request::new(PullImageRequest { image: spec(&name), ..Default::default() });
    request.metadata_mut().insert("grpc-timeout", "1m".parse().unwrap());
    world.refused(ImageService::pull_image(&world.cri, request), Code::DeadlineExceeded);
    world.ok(world.images().pull_image(PullImageRequest { image: spec(&name), ..Default::default() }));
}

// proves: RT-01 twin
#[test]
fn images_are_listed_and_what_is_not_here_is_removed() {
    let world = World::new();
    let list = |filter| world.ok(world.images().list_images(ListImagesRequest { filter })).images;
    let all = list(None);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].repo_tags, [IMAGE]);
    assert_eq!(list(Some(ImageFilter { image: spec(IMAGE) })), all);
    assert_eq!(list(Some(ImageFilter { image: spec("example.com/none:1") })), []);
    assert_eq!(list(Some(ImageFilter { image: spec("") })), all, "an empty filter is none");
    assert_eq!(status(&world, "example.com/none:1"), None);
    let verbose = ImageStatusRequest { image: spec(IMAGE), verbose: true };
    let info = world.ok(world.images().image_status(verbose)).info;
    let info: serde_json::Value = serde_json::from_str(&info["info"]).unwrap();
    assert_eq!(info["imageSpec"]["config"]["Entrypoint"][0], "./fixture");
    let usage = world.ok(world.images().image_fs_info(ImageFsInfoRequest {}));
    let images = &usage.image_filesystems[0];
    assert!(images.used_bytes.unwrap().value > 0 && images.timestamp > 0);
    assert!(std::path::Path::new(&images.fs_id.as_ref().unwrap().mountpoint).is_dir());
    for name in ["example.com/none:1", &"0".repeat(64), IMAGE, IMAGE] {
        world.ok(world.images().remove_image(RemoveImageRequest { image: spec(name) }));
    }
    assert_eq!(list(None), []);
}

/// How many layers there are, and how many of them a later boot will trust.
fn layers(world: &World) -> (usize, usize) {
    let places = std::fs::read_dir(world.path("root/images/layers")).unwrap();
    let places: Vec<_> = places.map(|place| place.unwrap().path()).collect();
    (places.len(), places.iter().filter(|place| place.join("synced").exists()).count())
}

/// Only `porthole up` brought layers to the disk: after a reboot a node had to unpack all its images again.
#[test]
fn what_a_pull_unpacked_reaches_the_disk_without_being_waited_for() {
    let registry = Registry::start(Options::default()).unwrap();
    registry.push(&fixture_image(), "try/app:1").unwrap();
    let world = World::new();
    world.ok(world.images().remove_image(RemoveImageRequest { image: spec(IMAGE) }));
    assert_eq!(layers(&world), (0, 0));
    let name = format!("{}/try/app:1", registry.address());
    world.ok(world.images().pull_image(PullImageRequest { image: spec(&name), ..Default::default() }));
    let whole = |(all, settled)| (all > 0 && all == settled).then_some(());
    eventually("every layer is settled", || whole(layers(&world)));
}

/// The image is loaded by another program, as `porthole image load` is: that one does not wait for the disk.
#[test]
fn a_container_sees_to_it_that_its_image_reaches_the_disk() {
    let world = World::new();
    let (all, settled) = layers(&world);
    assert!(all > 0 && settled == 0, "loaded and not settled");
    let pod = world.pod("settles");
    world.create(&pod, world.config("one", &["sleep", "1"]));
    let whole = |(all, settled)| (all == settled).then_some(());
    eventually("every layer is settled", || whole(layers(&world)));
}
