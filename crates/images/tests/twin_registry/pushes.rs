//! The way there.

use std::time::Duration;

use images::content::Content;
use images::digest::Digest;
use images::document::Descriptor;
use images::keyring::Keyring;
use images::names::Named;
use images::push::{PushError, Pushed, push};
use images::record::{Form, Layer, Record};
use images::registry::answer::PullError;
use images::{Access, Caller, Reference};
use testbed::image::{Image, ImageBuilder, Layer as Files};
use testbed::registry::{Auth, Fault, Options, Registry, Wrong};

use crate::bench::{Bench, descriptor, noise, pull, sample};
use crate::logins::{access, jane, token, with_a_program_that_is_gone};

const UPLOADS: &str = "/v2/*/blobs/uploads/*";

struct Shelf {
    _dir: tempfile::TempDir,
    content: Content,
}

// === impl Shelf ===

impl Shelf {
    fn with(image: &Image) -> Shelf {
        let dir = tempfile::tempdir().expect("a directory");
        let content = Content::open(dir.path()).expect("a store");
        let papers = image.documents().iter().map(|document| document.bytes.to_vec());
        for bytes in image.blobs().values().map(|bytes| bytes.to_vec()).chain(papers) {
            content.put(&bytes).expect("kept");
        }
        Shelf { _dir: dir, content }
    }

    fn push(&self, image: &Image, name: &str, access: &Access) -> Result<Pushed, PushError> {
        let root: Descriptor = descriptor(image.digest(), 0);
        push(&Reference::parse(name).expect("a name"), access, &self.content, &root, Caller::silent())
    }
}

fn empty() -> Registry {
    Registry::start(Options::default()).expect("a registry")
}

fn of(registry: Registry, image: Image) -> Bench {
    Bench { registry, image }
}

// proves: RT-09 twin
#[test]
fn what_was_pushed_is_what_is_pulled_and_is_not_sent_twice() {
    let bench = of(empty(), sample(300_000));
    let shelf = Shelf::with(&bench.image);
    let first = shelf.push(&bench.image, &bench.name(), &Access::default()).expect("pushed");
    let size: usize = bench.image.blobs().values().map(|bytes| bytes.len()).sum();
    assert_eq!((first.moved, first.sent, first.present), (size as u64, bench.image.blobs().len(), 0));
    assert_eq!(first.digest.as_str(), bench.image.digest());
    bench.registry.clear_requests();
    bench.assert_whole(&bench.pull(&Access::default()), 0);
    bench.registry.clear_requests();
    let again = shelf.push(&bench.image, &bench.name(), &Access::default()).expect("pushed");
    assert_eq!((again.moved, again.sent, again.present), (0, 0, bench.image.blobs().len()));
    let methods: Vec<_> = bench.registry.requests().into_iter().map(|request| request.method).collect();
    assert!(methods.iter().all(|method| method == "HEAD" || method == "PUT"), "{methods:?}");
}

#[test]
fn an_index_comes_after_what_it_names() {
    let build = |os: &str| {
        let layer = Files::new().file("os", os.as_bytes().to_vec(), 0o644);
        ImageBuilder::new(os, "amd64").layer(layer).build().expect("made")
    };
    let image = Image::index(&[build("linux"), build("windows")]);
    let bench = of(empty(), image);
    let shelf = Shelf::with(&bench.image);
    shelf.push(&bench.image, &bench.name(), &Access::default()).expect("pushed");
    let mut puts =
        bench.registry.requests().into_iter().filter(|request| request.path.contains("/manifests/"));
    let last = puts.next_back().expect("manifests");
    assert!(last.path.ends_with("/manifests/1"), "{}", last.path);
    bench.registry.clear_requests();
    bench.assert_whole(&bench.pull(&Access::default()), 0);
}

#[test]
fn a_large_blob_goes_in_pieces_and_a_failure_costs_one() {
    let layer = Files::new().file("noise", noise(20 << 20), 0o644);
    let bench = of(empty(), ImageBuilder::new("linux", "amd64").layer(layer).build().expect("made"));
    let shelf = Shelf::with(&bench.image);
    bench.registry.fault(Fault::new(Wrong::server_error()).method("PATCH").after(1).times(1));
    bench.registry.fault(Fault::new(Wrong::Close).method("PATCH").after(1).times(1));
    shelf.push(&bench.image, &bench.name(), &Access::default()).expect("pushed");
    let patches = bench.registry.requests().into_iter().filter(|request| request.method == "PATCH").count();
    assert_eq!(patches, 5, "three pieces and two that failed: {:?}", bench.registry.requests());
    bench.registry.clear_requests();
    bench.assert_whole(&bench.pull(&Access::default()), 0);
}

#[test]
fn failures_that_pass_are_waited_for_and_others_are_said() {
    for (method, path) in [("POST", "*"), ("PUT", UPLOADS), ("HEAD", "*"), ("PUT", "/v2/*/manifests/*")] {
        let bench = of(empty(), sample(1000));
        let shelf = Shelf::with(&bench.image);
        bench.registry.fault(
            Fault::new(Wrong::too_many_requests(Duration::from_secs(1))).method(method).path(path).times(1),
        );
        shelf
            .push(&bench.image, &bench.name(), &Access::default())
            .unwrap_or_else(|e| panic!("{method} {path}: {e:?}"));
        bench.registry.clear_requests();
        bench.assert_whole(&bench.pull(&Access::default()), 0);
    }
    let bench = of(empty(), sample(1000));
    let shelf = Shelf::with(&bench.image);
    bench.registry.fault(Fault::new(Wrong::Status { code: 403, headers: Vec::new() }).method("POST"));
    let error = shelf.push(&bench.image, &bench.name(), &Access::default()).expect_err("refused");
    assert!(
        matches!(&error, PushError::Send { source, .. } if matches!(**source, PullError::Denied { .. })),
        "{error:?}"
    );
}

#[test]
fn a_login_is_used_for_pushes_and_for_mounts() {
    let auth =
        Auth::Token { user: "jane".into(), password: "hunter2".into(), lifetime: Duration::from_secs(60) };
    let bench = of(Registry::start(Options { auth }).expect("a registry"), sample(1000));
    let shelf = Shelf::with(&bench.image);
    let access = Access { keyring: crate::logins::jane(&bench.registry), ..Access::default() };
    shelf.push(&bench.image, &bench.name(), &access).expect("pushed");
    let error = shelf.push(&bench.image, &bench.name(), &Access::default()).expect_err("refused");
    let PushError::Send { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("wants a login (401)"), "{error:?}");
}

/// A registry says of a part that is not there yet what it says of a repository that it hides: 404.
#[test]
fn what_is_not_there_yet_is_no_reason_for_another_account() {
    let joe = |registry: &Registry| {
        Keyring::default().with_password(&registry.address().to_string(), "joe", "unknown")
    };
    let gone = |_: &Registry| with_a_program_that_is_gone();
    let others: [&dyn Fn(&Registry) -> Keyring; 2] = [&joe, &gone];
    for other in others {
        let auth = token(Duration::from_secs(60));
        let bench = of(Registry::start(Options { auth }).expect("a registry"), sample(1000));
        let access = access(jane(&bench.registry).and(other(&bench.registry)));
        Shelf::with(&bench.image).push(&bench.image, &bench.name(), &access).expect("pushed");
    }
}

#[test]
fn another_host_that_uploads_go_on_at_is_not_given_our_login() {
    let thief = empty();
    let realm = format!("Bearer realm=\"http://{}/token\",service=\"thief\"", thief.address());
    thief.fault(Fault::new(Wrong::unauthorized(&realm)).path(UPLOADS));
    let bench = Bench::with(crate::logins::basic());
    let image = sample(2000);
    let place = format!("http://{}/v2/try/app/blobs/uploads/1", thief.address());
    bench.registry.fault(Fault::new(Wrong::Header { name: "Location".into(), value: place }).path(UPLOADS));
    let access = Access { keyring: crate::logins::jane(&bench.registry), ..Access::default() };
    let error = Shelf::with(&image).push(&image, &bench.name(), &access).expect_err("refused");
    let asked = thief.requests();
    assert!(!asked.is_empty() && asked.iter().all(|request| request.path.contains("/uploads/")), "{asked:?}");
    assert!(asked.iter().all(|request| request.header("Authorization").is_none()), "{asked:?}");
    assert!(matches!(&error, PushError::Send { .. }), "{error:?}");
}

/// The store knows by an image's name where its blobs are.
#[test]
fn a_blob_of_another_repository_is_mounted_from_there() {
    let bench = Bench::new();
    let shelf = Shelf::with(&bench.image);
    let manifest = bench.image.documents().first().expect("a manifest");
    let document: images::document::Manifest = serde_json::from_slice(&manifest.bytes).expect("a manifest");
    let digest = |text: &str| Digest::parse(text).expect("a digest");
    let layer = |layer: &Descriptor| Layer {
        digest: digest(&layer.digest),
        diff_id: digest(&layer.digest),
        size: layer.size.expect("said"),
        media_type: None,
        urls: Vec::new(),
    };
    let record = Record {
        id: digest(&document.config.digest),
        config_size: document.config.size.expect("said"),
        manifest: digest(bench.image.digest()),
        manifest_size: manifest.bytes.len() as u64,
        media_type: None,
        layers: document.layers.iter().map(layer).collect(),
        platform: images::document::Platform::new("linux", "amd64"),
        runs: images::document::Runs::default(),
        labels: std::collections::BTreeMap::new(),
        created: None,
        pulled: 0,
        form: Form::Layers,
    };
    shelf.content.put_record(&record).expect("kept");
    let named = Named { id: record.id.clone(), target: record.manifest.clone(), indexes: Vec::new() };
    shelf.content.names().set(&Reference::parse(&bench.name()).expect("a name"), &named).expect("named");
    let other = format!("{}/try/other:1", bench.registry.address());
    let pushed = shelf.push(&bench.image, &other, &Access::default()).expect("pushed");
    assert_eq!((pushed.moved, pushed.sent, pushed.mounted), (0, 0, bench.image.blobs().len()));
    pull(&other, &Access::default(), &bench.image).blobs.expect("there");
    // A registry that does not mount takes the bytes.
    let third = format!("{}/try/third:1", bench.registry.address());
    let refused = Wrong::Status { code: 405, headers: Vec::new() };
    bench.registry.fault(Fault::new(refused).method("POST").times(1));
    let pushed = shelf.push(&bench.image, &third, &Access::default()).expect("pushed");
    assert_eq!((pushed.sent, pushed.mounted), (1, bench.image.blobs().len() - 1));
    pull(&third, &Access::default(), &bench.image).blobs.expect("there");
}

#[test]
fn what_is_neither_here_nor_there_is_named() {
    let bench = of(empty(), sample(1000));
    let dir = tempfile::tempdir().expect("a directory");
    let content = Content::open(dir.path()).expect("a store");
    for document in bench.image.documents() {
        content.put(&document.bytes).expect("kept");
    }
    let shelf = Shelf { _dir: dir, content };
    let error = shelf.push(&bench.image, &bench.name(), &Access::default()).expect_err("refused");
    assert!(error.to_string().contains("neither in the store nor in the registry"), "{error}");
    // Where the registry has the blobs the manifest is enough.
    bench.registry.push(&bench.image, "try/app:other").expect("pushed");
    shelf.push(&bench.image, &bench.name(), &Access::default()).expect("pushed");
    pull(&bench.name(), &Access::default(), &bench.image).blobs.expect("there");
}
