use super::*;
use crate::sample::Sample;

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
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

    fn ensure(&self, source: &Source, os: &str) -> Result<Image, ImageError> {
        let wanted = Wanted { source, policy: None, os, architecture: "amd64" };
        self.store().ensure(&wanted, Caller::silent())
    }

    fn entries(&self) -> usize {
        std::fs::read_dir(self.store_dir()).unwrap().count()
    }
}

fn dir(image: &Image) -> &Path {
    let Files::Dir(dir) = &image.files else { panic!("{image:?}") };
    dir
}

#[test]
fn an_archive_becomes_a_directory_once() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("bin/app", "x")]));
    let image = world.ensure(&source, "linux").unwrap();
    assert_eq!(std::fs::read_to_string(dir(&image).join("bin/app")).unwrap(), "x");
    assert_eq!(
        (image.runs.entrypoint.as_slice(), image.runs.env.as_slice()),
        (&["/app".to_owned()][..], &["A=1".to_owned()][..])
    );
    std::fs::write(dir(&image).join("mark"), "").unwrap();
    let again = world.ensure(&source, "linux").unwrap();
    assert_eq!(again, image);
    assert!(dir(&again).join("mark").exists(), "unpacked again");
    assert_eq!(world.entries(), 1);
}

#[test]
fn windows_images_lose_their_files_directory() {
    let world = World::new();
    let source =
        world.archive(Sample::default().image("windows", &[("Files/app.exe", "x"), ("Hives/h", "")]));
    let image = world.ensure(&source, "windows").unwrap();
    assert!(dir(&image).join("app.exe").exists() && !dir(&image).join("Hives").exists());
}

#[test]
fn a_damaged_layer_leaves_no_image() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("a", "body")]).damage("body"));
    assert!(matches!(world.ensure(&source, "linux"), Err(ImageError::Archive { .. })));
    assert_eq!(world.entries(), 0);
}

#[test]
fn what_an_interrupted_unpacking_left_is_swept() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("a", "body")]));
    let image = world.ensure(&source, "linux").unwrap();
    let half = world.store_dir().join(format!("{UNFINISHED}sha256-0"));
    std::fs::create_dir_all(half.join("files/deep")).unwrap();
    world.store();
    assert!(!half.exists() && dir(&image).exists());
}

#[test]
fn a_directory_is_its_own_image() {
    let world = World::new();
    let dir = world.dir.path().join("app");
    std::fs::create_dir(&dir).unwrap();
    let image = world.ensure(&Source::Dir(dir.clone()), "linux").unwrap();
    assert_eq!(image, Image { files: Files::Dir(dir.clone()), runs: Runs::default() });
    std::fs::write(dir.join("file"), "").unwrap();
    for missing in [dir.join("file"), dir.join("nothing")] {
        let error = world.ensure(&Source::Dir(missing), "linux").unwrap_err();
        assert!(matches!(error, ImageError::NotADirectory { .. }), "{error}");
    }
}

/// A store to which an image was pulled under this name.
fn pulled(world: &World, name: &str) -> (Source, Image) {
    let archive = world.archive(Sample::default().image("linux", &[("a", "body")]));
    let image = world.ensure(&archive, "linux").unwrap();
    let id = dir(&image).parent().unwrap().file_name().unwrap().to_str().unwrap().replace('-', ":");
    let reference = Reference::parse(name).unwrap();
    world.store().names.set(&reference, &id).unwrap();
    (Source::Reference(reference), image)
}

#[test]
fn an_image_that_is_here_needs_no_registry() {
    let world = World::new();
    // Nobody listens at this port.
    let (source, image) = pulled(&world, "127.0.0.1:1/app:1");
    for policy in [None, Some(PullPolicy::IfNotPresent), Some(PullPolicy::Never)] {
        let wanted = Wanted { source: &source, policy, os: "linux", architecture: "amd64" };
        assert_eq!(world.store().ensure(&wanted, Caller::silent()).unwrap(), image);
    }
}

#[test]
fn never_means_never() {
    let world = World::new();
    let (_, image) = pulled(&world, "127.0.0.1:1/app:1");
    let ensure = |name: &str, os| {
        let source = Source::Reference(Reference::parse(name).unwrap());
        let wanted = Wanted { source: &source, policy: Some(PullPolicy::Never), os, architecture: "amd64" };
        world.store().ensure(&wanted, Caller::silent())
    };
    let error = ensure("127.0.0.1:1/app:2", "linux").unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1/app:2") && error.contains("imagePullPolicy is Never"), "{error}");
    ensure("127.0.0.1:1/app:1", "windows").expect_err("it is for another system");
    ensure("127.0.0.1:1/app:1", "linux").unwrap();
    std::fs::remove_file(dir(&image).parent().unwrap().join(CONFIGURATION)).unwrap();
    ensure("127.0.0.1:1/app:1", "linux").expect_err("it is not whole");
}

#[test]
fn an_image_that_is_not_whole_is_made_again() {
    let world = World::new();
    let (_, image) = pulled(&world, "app:1");
    std::fs::remove_file(dir(&image).join("a")).unwrap();
    std::fs::write(dir(&image).parent().unwrap().join(CONFIGURATION), "{").unwrap();
    let source = world.archive(Sample::default().image("linux", &[("a", "body")]));
    assert_eq!(world.ensure(&source, "linux").unwrap(), image);
    assert!(dir(&image).join("a").exists());
}

fn cause(error: &ImageError) -> &PullError {
    let ImageError::Pull { source, .. } = error else { panic!("{error}") };
    source
}

#[test]
fn who_gives_up_waits_no_longer() {
    let world = World::new();
    // Takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("{}/app:1", silent.local_addr().unwrap());
    let source = Source::Reference(Reference::parse(&name).unwrap());
    let wanted = Wanted { source: &source, policy: None, os: "linux", architecture: "amd64" };
    let asked = std::sync::atomic::AtomicU32::new(0);
    let gave_up = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 3;
    let error = world.store().ensure(&wanted, Caller { tell: &|_| {}, gave_up: &gave_up }).unwrap_err();
    assert!(matches!(cause(&error), PullError::GaveUp), "{error}");
    assert_eq!(world.entries(), 0);
}

#[test]
fn a_registry_that_is_away_is_asked_three_times() {
    let world = World::new();
    let source = Source::Reference(Reference::parse("127.0.0.1:1/app:1").unwrap());
    let wanted = Wanted { source: &source, policy: None, os: "linux", architecture: "amd64" };
    let heard = std::sync::Mutex::new(Vec::new());
    let tell = |progress: &Progress| heard.lock().unwrap().push(progress.to_string());
    let error = world.store().ensure(&wanted, Caller { tell: &tell, gave_up: &|| false }).unwrap_err();
    assert!(matches!(cause(&error), PullError::Network { .. }), "{error}");
    let heard = heard.into_inner().unwrap();
    assert_eq!((heard.len(), heard[0].as_str()), (3, "pulling 127.0.0.1:1/app:1"), "{heard:?}");
    assert!(
        heard[1..].iter().all(|line| line.contains("onnection refused") && line.contains("again in")),
        "{heard:?}"
    );
}
