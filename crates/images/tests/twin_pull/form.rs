//! What an image looks like when it is here.

use std::fs::File;

use images::stack::{Seen, Stack};
use images::{Caller, Files, Progress, Source, Stage};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Fault, Wrong};

use crate::support::{Heard, World, count, image_of, lower, mounted, noise, total};

#[test]
fn an_image_is_pulled_and_seen_through_an_overlay() {
    let base = Layer::new()
        .file("bin/app", "#!/bin/sh\necho hello", 0o755)
        .file("etc/gone", "x", 0o644)
        .file("etc/kept", "kept", 0o600)
        .symlink("bin/link", "app")
        .directory("tmp", 0o1777);
    let top =
        Layer::new().whiteout("etc/gone").file("etc/new", "new", 0o644).hard_link("etc/same", "etc/new");
    let image = ImageBuilder::new("linux", "amd64").layer(base).layer(top).env("A", "1").workdir("/tmp");
    let world = World::with(&image.build().unwrap());
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(
        (pulled.runs.env.as_slice(), pulled.runs.working_dir.as_str()),
        (&["A=1".to_owned()][..], "/tmp")
    );
    let seen = mounted(&pulled, "find . | sort; bin/link; cat etc/new; stat -c %a etc/kept tmp");
    let expected = ".\n./bin\n./bin/app\n./bin/link\n./etc\n./etc/kept\n./etc/new\n./etc/same\n./tmp\nhello\nnew600\n1777\n";
    assert_eq!(seen, expected);
    world.assert_sound(false);
    let status = world.store().status(&world.reference("try/app:1").to_string()).unwrap().unwrap();
    assert_eq!(status.repo_digests.len(), 1, "{status:?}");
    assert!(status.unpacked > 0 && status.packed > 0);
}

#[test]
fn a_second_pull_moves_the_manifest_only() {
    let image = image_of(0..3, 1000);
    let world = World::with(&image);
    let (first, heard) = (world.pull("try/app:1").unwrap(), Heard::default());
    assert_eq!(world.moved().1, total(&image));
    world.registry.clear_requests();
    let again = world.pull_telling("try/app:1", Caller { tell: &heard.tell(), gave_up: &|| false }).unwrap();
    assert_eq!(again, first);
    let paths: Vec<_> = world.registry.requests().into_iter().filter(|r| r.status == 200).collect();
    assert!(
        paths.iter().all(|request| request.path.contains("/manifests/") || request.path == "/v2/"),
        "{paths:?}"
    );
    let heard = heard.all();
    let present = |progress: &&Progress| matches!(progress, Progress::Layer { stage: Stage::Present, .. });
    assert_eq!(heard.iter().filter(present).count(), 3, "{heard:?}");
    assert!(matches!(heard.last(), Some(Progress::Pulled { bytes: 0, .. })), "{heard:?}");
}

#[test]
fn images_share_the_layers_they_have_in_common() {
    let (one, two) = (image_of(0..3, 1000), image_of(0..4, 1000));
    let world = World::with(&one);
    world.registry.push(&two, "try/other:1").unwrap();
    let first = world.pull("try/app:1").unwrap();
    std::fs::write(lower(&first)[2].join("mark"), "").unwrap();
    world.registry.clear_requests();
    let second = world.pull("try/other:1").unwrap();
    assert_eq!(lower(&second)[1..], *lower(&first));
    assert_eq!(count(&world.dir().join("layers")), 4);
    let (asked, _) = world.moved();
    assert_eq!(asked.len(), 2, "the configuration and one layer: {asked:?}");
    assert!(lower(&second)[3].join("mark").exists(), "the shared layer was unpacked again");
}

/// Each of them comes first once and is unpacked; the others then find the layer, and only their blob moves.
#[test]
fn a_layer_in_three_compressions_is_unpacked_once() {
    let data = noise(1, 300_000);
    let mut packed = packed(data.clone());
    for _ in 0..packed.len() {
        packed.rotate_left(1);
        let (world, first) = (World::new(), packed[0].0);
        for (form, image) in &packed {
            let name = format!("try/{form}:1");
            world.registry.push(image, &name).unwrap();
            let pulled = world.pull(&name).unwrap();
            assert_eq!(mounted(&pulled, "cat etc/word"), "same", "{form} after {first}");
            let [layer] = lower(&pulled) else { panic!("{pulled:?}") };
            assert!(std::fs::read(layer.join("data")).unwrap() == data, "{form} after {first}");
            let is_new = File::create_new(layer.join("mark")).is_ok();
            assert_eq!(is_new, *form == first, "{form} after {first}: whether it was unpacked");
        }
        assert_eq!(count(&world.dir().join("layers")), 1, "{first} first");
        assert_eq!(world.store().list().unwrap().len(), 3, "{first} first");
        let (asked, bytes) = world.moved();
        assert!(asked.len() == 6 && asked.values().all(|times| *times == 1), "{first} first: {asked:?}");
        assert_eq!(bytes, packed.iter().map(|(_, image)| total(image)).sum::<u64>(), "{first} first");
        world.assert_sound(false);
    }
}

/// The same layer in every form that registries have; three images, as each has an environment of its own.
fn packed(data: Vec<u8>) -> [(&'static str, Image); 3] {
    let layer = Layer::new().file("etc/word", "same", 0o644).file("data", data, 0o644);
    let forms = [("gzip", layer.clone()), ("zstd", layer.clone().zstd()), ("plain", layer.plain())];
    forms.map(|(form, layer)| {
        let image = ImageBuilder::new("linux", "amd64").layer(layer).env("FORM", form);
        (form, image.build().unwrap())
    })
}

#[test]
fn a_large_layer_of_zstd_that_is_cut_in_the_middle_goes_on_there() {
    const SEGMENT: usize = 4 << 20;
    const CUT: usize = 1_234_567;
    let data = noise(7, (17 << 20) + 12_345);
    let digest = testbed::image::digest(&data);
    let [_, (_, image), _] = packed(data);
    let world = World::with(&image);
    let layer = image.blobs().iter().max_by_key(|(_, blob)| blob.len()).unwrap();
    assert!(layer.1.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]), "no zstd");
    let cut = Fault::new(Wrong::Cut { after: CUT }).path(&format!("*/blobs/{}", layer.0));
    // The first segments go well.
    world.registry.fault(cut.after(2).times(1));
    let heard = Heard::default();
    let pulled = world.pull_telling("try/app:1", Caller { tell: &heard.tell(), gave_up: &|| false }).unwrap();
    assert_eq!(mounted(&pulled, "sha256sum < data"), format!("{}  -\n", &digest["sha256:".len()..]));
    let again = |progress: &&Progress| matches!(progress, Progress::Retrying { .. });
    let heard = heard.all();
    assert_eq!(heard.iter().filter(again).count(), 1, "{heard:?}");
    let ranges = world.registry.requests().into_iter().filter_map(|request| request.range);
    let begins = ranges.filter_map(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
    let begins: Vec<usize> = begins.collect();
    assert!(begins.iter().any(|at| *at > SEGMENT && at % SEGMENT == CUT), "{begins:?}");
    assert_eq!(world.moved().1, total(&image), "bytes came twice");
    world.assert_sound(false);
}

#[test]
fn a_hundred_layers_are_one_image() {
    let world = World::with(&image_of(0..100, 100));
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(lower(&pulled).len(), 100);
    assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "99100\n");
    world.assert_sound(false);
}

#[test]
fn a_layer_that_comes_twice_is_stacked_once() {
    let same = Layer::new().file("a", "1", 0o644);
    let other = Layer::new().file("a", "2", 0o644).file("b", "b", 0o644);
    let image = ImageBuilder::new("linux", "amd64").layer(same.clone()).layer(other).layer(same);
    let world = World::with(&image.build().unwrap());
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(lower(&pulled).len(), 2);
    assert_eq!(mounted(&pulled, "cat a b"), "1b");
}

/// Docker's builder describes every directory; others bring only files, and their directories must not lose the
/// owner and the mode that a layer below gave them.
#[test]
fn what_a_layer_only_implies_keeps_the_attributes_it_has_below() {
    let base = Layer::new().directory("var/secret", 0o700).directory("tmp", 0o1777).file("tmp/x", "", 0o644);
    let image = ImageBuilder::new("linux", "amd64").layer(base);
    let image = image.layer(raw(&[("var/secret/y", "y"), ("tmp/z", "z")]));
    let world = World::with(&image.build().unwrap());
    let pulled = world.pull("try/app:1").unwrap();
    assert_eq!(mounted(&pulled, "stat -c %a var/secret tmp; ls tmp"), "700\n1777\nx\nz\n");
}

#[test]
fn layers_that_cannot_be_stacked_are_unpacked_whole() {
    let through_link = [("lib/new.so", "n")];
    let base = || Layer::new().file("usr/lib/old.so", "o", 0o644).symlink("lib", "usr/lib");
    let linked = ImageBuilder::new("linux", "amd64").layer(base()).layer(raw(&through_link));
    let hard = ImageBuilder::new("linux", "amd64")
        .layer(base())
        .layer(Layer::new().hard_link("copy", "usr/lib/old.so"))
        .layer(Layer::new().file("more", noise(1, 10_000), 0o644));
    for (image, path) in [(linked, "usr/lib/new.so"), (hard, "copy")] {
        let world = World::with(&image.build().unwrap());
        let pulled = world.pull("try/app:1").unwrap();
        let Files::Dir(files) = &pulled.files else { panic!("{path}: {pulled:?}") };
        assert!(files.join(path).is_file() && files.join("usr/lib/old.so").is_file(), "{path}");
        assert_eq!(world.pull("try/app:1").unwrap(), pulled, "{path}");
        let (asked, _) = world.moved();
        assert!(asked.values().all(|times| *times == 1), "{path}: {asked:?}");
        assert_eq!(count(&world.dir().join("layers")), 0, "{path}: it takes the disk twice");
        world.assert_sound(false);
    }
}

#[test]
fn an_image_that_is_unpacked_whole_leaves_the_layers_of_others() {
    let base = Layer::new().file("usr/lib/old.so", "o", 0o644);
    let hard = Layer::new().hard_link("copy", "usr/lib/old.so");
    let stacked = ImageBuilder::new("linux", "amd64").layer(base);
    let world = World::with(&stacked.clone().build().unwrap());
    world.registry.push(&stacked.layer(hard).build().unwrap(), "try/other:1").unwrap();
    let first = world.pull("try/app:1").unwrap();
    let second = world.pull("try/other:1").unwrap();
    assert!(matches!(second.files, Files::Dir(_)), "{second:?}");
    assert_eq!(mounted(&first, "cat usr/lib/old.so"), "o");
    assert_eq!(count(&world.dir().join("layers")), 1);
    world.assert_sound(false);
}

/// As the layers of Windows once were: in the registry there is only their name.
#[test]
fn a_foreign_layer_comes_from_where_its_manifest_says() {
    let image = image_of(0..3, 100_000);
    let (world, elsewhere) = (World::new(), World::with(&image));
    let place = format!("http://{}/v2/try/app/blobs/", elsewhere.registry.address());
    world.registry.push_foreign(&image, "try/foreign:1", &place).unwrap();
    let pulled = world.pull("try/foreign:1").unwrap();
    assert_eq!(mounted(&pulled, "cat etc/last; ls data | wc -l"), "23\n");
    let given = |world: &World| {
        let requests = world.registry.requests().into_iter();
        let blobs = requests.filter(|request| request.path.contains("/blobs/") && request.status == 200);
        blobs.map(|request| request.bytes).collect::<Vec<_>>()
    };
    let (own, foreign) = (given(&world), given(&elsewhere));
    assert_eq!((own.len(), foreign.len()), (1, 3), "the configuration here, the layers there");
    assert_eq!(own.iter().chain(&foreign).sum::<u64>(), total(&image));
    world.assert_sound(false);
    assert_eq!(world.pull("try/foreign:1").unwrap(), pulled);
    assert_eq!(given(&elsewhere).len(), 3, "they came again");
}

/// The same engine for files: what an archive brings is shared with what a registry brings.
#[test]
fn an_archive_shares_layers_with_a_registry() {
    let image = image_of(0..3, 1000);
    let world = World::with(&image);
    let pulled = world.pull("try/app:1").unwrap();
    let path = world.dir().parent().unwrap().join("x.tar");
    image.write_oci_archive(&path).unwrap();
    let (host, access) = (images::platform::Host::new("linux", "amd64"), images::Access::default());
    let source = Source::OciArchive(path);
    let isolation = images::platform::Isolation::HostProcess;
    let wanted =
        images::Wanted { source: &source, policy: None, host: &host, isolation, access: &access, pin: None };
    assert_eq!(world.store().ensure(&wanted, Caller::silent()).unwrap(), pulled);
    let stack = Stack::new(lower(&pulled));
    assert_eq!(stack.resolve(std::path::Path::new("data/2")).unwrap(), Seen::File);
}

/// Files alone, without the directories they are in.
fn raw(files: &[(&str, &str)]) -> Layer {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, body) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(body.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, body.as_bytes()).unwrap();
    }
    Layer::of_tar(tar.into_inner().unwrap())
}
