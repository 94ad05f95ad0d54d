use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::fsck::Problem;
use crate::record::Form;
use crate::sample::{Sample, tar_of};
use crate::stack::{Seen, Stack};

mod lasting;

struct World {
    dir: tempfile::TempDir,
    host: Host,
    access: Access,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        World { dir, host: Host::new("linux", "amd64"), access: Access::default() }
    }

    fn on(os: &str) -> World {
        World { host: Host::new(os, "amd64"), ..World::new() }
    }

    fn archive(&self, sample: Sample) -> Source {
        let path = self.dir.path().join("image.tar");
        sample.write(&path);
        Source::OciArchive(path)
    }

    fn store_dir(&self) -> PathBuf {
        self.dir.path().join("images")
    }

    fn store(&self) -> Store {
        Store::open(&self.store_dir()).unwrap()
    }

    fn wanted<'a>(&'a self, source: &'a Source, policy: Option<PullPolicy>) -> Wanted<'a> {
        let isolation = Isolation::HostProcess;
        Wanted { source, policy, host: &self.host, isolation, access: &self.access, pin: None }
    }

    fn ensure(&self, source: &Source) -> Result<Image, ImageError> {
        self.store().ensure(&self.wanted(source, None), Caller::silent())
    }
}

/// What a container sees under a path.
fn seen(image: &Image, path: &str) -> Seen {
    let lower = match &image.files {
        Files::Dir(dir) => vec![dir.clone()],
        Files::Layers { lower, .. } => lower.clone(),
    };
    Stack::new(&lower).resolve(Path::new(path)).unwrap()
}

fn layers(image: &Image) -> &[PathBuf] {
    let Files::Layers { lower, .. } = &image.files else { panic!("{image:?}") };
    lower
}

#[test]
fn an_archive_is_unpacked_once() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("bin/app", "x")]));
    let image = world.ensure(&source).unwrap();
    assert_eq!(seen(&image, "bin/app"), Seen::File);
    assert_eq!(
        (image.runs.entrypoint.as_slice(), image.runs.env.as_slice()),
        (&["/app".to_owned()][..], &["A=1".to_owned()][..])
    );
    std::fs::write(layers(&image)[0].join("mark"), "").unwrap();
    let again = world.ensure(&source).unwrap();
    assert_eq!(again, image);
    assert_eq!(seen(&again, "mark"), Seen::File, "unpacked again");
}

#[test]
fn windows_images_lose_their_files_directory_and_are_whole() {
    let world = World::on("windows");
    let source =
        world.archive(Sample::default().image("windows", &[("Files/app.exe", "x"), ("Hives/h", "")]));
    let image = world.ensure(&source).unwrap();
    let Files::Dir(dir) = &image.files else { panic!("{image:?}") };
    assert!(dir.join("app.exe").exists() && !dir.join("Hives").exists());
    assert_eq!(world.ensure(&source).unwrap(), image);
}

#[test]
fn a_damaged_layer_leaves_no_image() {
    for os in ["linux", "windows"] {
        let world = World::on(os);
        let source = world.archive(Sample::default().image(os, &[("Files/a", "body")]).damage("body"));
        let error = world.ensure(&source).unwrap_err();
        let ImageError::Archive { source, .. } = &error else { panic!("{error}") };
        assert!(matches!(source, ArchiveError::Content(ContentError::Damaged { .. })), "{error:?}");
        let content = world.store().content().clone();
        assert_eq!(content.records().unwrap().len(), 0);
        for room in ["layers", "flat", "ingest", "leases"] {
            let left = std::fs::read_dir(world.store_dir().join(room)).unwrap().count();
            assert_eq!(left, 0, "{room}");
        }
    }
}

#[test]
fn a_directory_is_its_own_image() {
    let world = World::new();
    let dir = world.dir.path().join("app");
    std::fs::create_dir(&dir).unwrap();
    let image = world.ensure(&Source::Dir(dir.clone())).unwrap();
    assert_eq!(image, Image { id: None, files: Files::Dir(dir.clone()), runs: Runs::default() });
    std::fs::write(dir.join("file"), "").unwrap();
    for missing in [dir.join("file"), dir.join("nothing")] {
        let error = world.ensure(&Source::Dir(missing)).unwrap_err();
        assert!(matches!(error, ImageError::NotADirectory { .. }), "{error}");
    }
}

/// The size counted both, so that fsck called the layer damaged, and after the next pull again.
#[test]
fn a_layer_that_names_a_path_twice_is_sound() {
    let twice: [&[(&str, &str)]; 3] = [
        &[("Files/a", "the first one"), ("Files/a", "second")],
        &[("Files/a", "a file"), ("Files/a/b", "and then a directory")],
        &[("Files/a/b", "in a directory"), ("Files/a", "that is a file then")],
    ];
    for (files, os) in twice.into_iter().flat_map(|files| [(files, "linux"), (files, "windows")]) {
        let world = World::on(os);
        let source = world.archive(Sample::default().image(os, files));
        world.ensure(&source).unwrap();
        let store = world.store();
        let found = store.content().fsck(false).unwrap().found;
        let damaged = found.iter().find(|found| matches!(found.problem, Problem::DamagedLayer { .. }));
        assert!(damaged.is_none(), "{os}, {files:?}: {}", damaged.unwrap());
        assert_eq!(store.list().unwrap()[0].unpacked, files[1].1.len() as u64, "{os}, {files:?}");
    }
}

/// A store that has an image under this name.
fn pulled(world: &World, name: &str) -> (Source, Image) {
    let Source::OciArchive(path) = world.archive(Sample::default().image("linux", &[("a", "body")])) else {
        panic!("an archive");
    };
    let reference = Reference::parse(name).unwrap();
    let image = world.store().load(&path, &reference, "linux", "amd64").unwrap();
    (Source::Reference(reference), image)
}

#[test]
fn an_image_that_is_here_needs_no_registry() {
    let world = World::new();
    // Nobody listens at this port.
    let (source, image) = pulled(&world, "127.0.0.1:1/app:1");
    for policy in [None, Some(PullPolicy::IfNotPresent), Some(PullPolicy::Never)] {
        let found = world.store().ensure(&world.wanted(&source, policy), Caller::silent());
        assert_eq!(found.unwrap(), image);
    }
    let target = &world.store().content().names().all().unwrap()["127.0.0.1:1/app:1"].target.clone();
    let by_digest = Source::Reference(Reference::parse(&format!("127.0.0.1:1/app@{target}")).unwrap());
    assert_eq!(world.ensure(&by_digest).unwrap(), image);
}

#[test]
fn never_means_never() {
    let world = World::new();
    let (_, image) = pulled(&world, "127.0.0.1:1/app:1");
    let ensure = |name: &str, os| {
        let source = Source::Reference(Reference::parse(name).unwrap());
        let host = Host::new(os, "amd64");
        let wanted = Wanted { host: &host, ..world.wanted(&source, Some(PullPolicy::Never)) };
        world.store().ensure(&wanted, Caller::silent())
    };
    let error = ensure("127.0.0.1:1/app:2", "linux").unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1/app:2") && error.contains("imagePullPolicy is Never"), "{error}");
    ensure("127.0.0.1:1/app:1", "windows").expect_err("it is for another system");
    ensure("127.0.0.1:1/app:1", "linux").unwrap();
    let layer = layers(&image)[0].parent().unwrap();
    std::fs::remove_dir_all(layer).unwrap();
    assert_eq!(ensure("127.0.0.1:1/app:1", "linux").unwrap(), image, "its blob is here");
    let blob = crate::digest::Digest::of(&tar_of(&[("a", "body")]));
    std::fs::remove_dir_all(layer).unwrap();
    std::fs::remove_file(world.store_dir().join("blobs/sha256").join(blob.hex())).unwrap();
    ensure("127.0.0.1:1/app:1", "linux").expect_err("nothing of it is here");
}

#[test]
fn an_image_that_was_only_fetched_is_unpacked_when_it_is_wanted() {
    for os in ["linux", "windows"] {
        let world = World::on(os);
        let source = world.archive(Sample::default().image(os, &[("Files/a", "body")]));
        let Source::OciArchive(path) = &source else { panic!("an archive") };
        let reference = Reference::parse("127.0.0.1:1/app:1").unwrap();
        let store = world.store();
        let wanted = world.wanted(&source, None);
        let pulled = store.take_archive(path, "app", &wanted, false, Caller::silent()).unwrap();
        store.name(&reference, &pulled).unwrap();
        assert_eq!(store.list().unwrap()[0].form, Form::Packed);
        let source = Source::Reference(reference);
        let image = store.ensure(&world.wanted(&source, Some(PullPolicy::Never)), Caller::silent()).unwrap();
        assert_eq!(seen(&image, if os == "linux" { "Files/a" } else { "a" }), Seen::File);
        assert_ne!(store.list().unwrap()[0].form, Form::Packed);
    }
}

#[test]
fn an_image_is_kept_for_whom_it_was_ensured() {
    let world = World::new();
    let (source, image) = pulled(&world, "127.0.0.1:1/app:1");
    let wanted = Wanted { pin: Some("pod x"), ..world.wanted(&source, None) };
    let store = world.store();
    store.ensure(&wanted, Caller::silent()).unwrap();
    let status = store.status("127.0.0.1:1/app:1").unwrap().unwrap();
    assert_eq!(
        (Some(&status.id), status.in_use_by.as_slice()),
        (image.id.as_ref(), &["pod x".to_owned()][..])
    );
    store.content().remove("127.0.0.1:1/app:1", true).expect_err("it is used");
    store.content().unpin("pod x").unwrap();
    store.content().remove("127.0.0.1:1/app:1", false).unwrap();
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn an_image_says_what_it_is() {
    let world = World::new();
    let (_, image) = pulled(&world, "example.com/some/app:1");
    let store = world.store();
    let all = store.list().unwrap();
    let [status] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(
        (status.names.as_slice(), status.form),
        (&["example.com/some/app:1".to_owned()][..], Form::Layers)
    );
    assert_eq!(status.repo_digests, [format!("example.com/some/app@{}", status.manifest)]);
    assert_eq!((status.unpacked, status.platform.to_string().as_str()), (4, "linux/amd64"));
    assert!(status.packed > 1024 && status.used.is_some() && status.pulled > 0, "{status:?}");
    let id = image.id.unwrap();
    for text in [id.as_str(), id.hex(), id.short(), "example.com/some/app:1"] {
        assert_eq!(store.status(text).unwrap().as_ref(), Some(status), "{text}");
    }
    for text in ["app", "sha256:", "", &"0".repeat(64)] {
        assert_eq!(store.status(text).unwrap(), None, "{text}");
    }
}

fn unanswered(world: &World, name: &str, caller: Caller<'_>) -> ImageError {
    let source = Source::Reference(Reference::parse(name).unwrap());
    world.store().ensure(&world.wanted(&source, None), caller).unwrap_err()
}

#[test]
fn who_gives_up_waits_no_longer() {
    let world = World::new();
    // Takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("{}/app:1", silent.local_addr().unwrap());
    let asked = AtomicU32::new(0);
    let gave_up = || asked.fetch_add(1, Ordering::Relaxed) >= 3;
    let error = unanswered(&world, &name, Caller { tell: &|_| {}, gave_up: &gave_up });
    assert!(matches!(error, ImageError::GaveUp { .. }), "{error}");
}

#[test]
fn a_registry_that_is_away_is_asked_several_times() {
    let world = World::new();
    let heard = Mutex::new(Vec::new());
    let tell = |progress: &Progress| heard.lock().unwrap().push(progress.to_string());
    let error = unanswered(&world, "127.0.0.1:1/app:1", Caller { tell: &tell, gave_up: &|| false });
    let ImageError::Pull { source, .. } = &error else { panic!("{error}") };
    assert!(matches!(**source, PullError::Network { .. }), "{error}");
    let heard = heard.into_inner().unwrap();
    assert!(heard.len() >= 3 && heard[0] == "pulling 127.0.0.1:1/app:1", "{heard:?}");
    assert!(
        heard[1..].iter().all(|line| line.contains("onnection refused") && line.contains("again in")),
        "{heard:?}"
    );
}
