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

    fn entries(&self) -> usize {
        std::fs::read_dir(self.store_dir()).unwrap().count()
    }
}

#[test]
fn an_archive_becomes_a_directory_once() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("bin/app", "x")]));
    let image = world.store().ensure(&source, "linux", "amd64").unwrap();
    assert_eq!(std::fs::read_to_string(image.files.join("bin/app")).unwrap(), "x");
    assert_eq!(
        (image.runs.entrypoint.as_slice(), image.runs.env.as_slice()),
        (&["/app".to_owned()][..], &["A=1".to_owned()][..])
    );
    std::fs::write(image.files.join("mark"), "").unwrap();
    let again = world.store().ensure(&source, "linux", "amd64").unwrap();
    assert_eq!(again, image);
    assert!(again.files.join("mark").exists(), "unpacked again");
    assert_eq!(world.entries(), 1);
}

#[test]
fn windows_images_lose_their_files_directory() {
    let world = World::new();
    let source =
        world.archive(Sample::default().image("windows", &[("Files/app.exe", "x"), ("Hives/h", "")]));
    let image = world.store().ensure(&source, "windows", "amd64").unwrap();
    assert!(image.files.join("app.exe").exists() && !image.files.join("Hives").exists());
}

#[test]
fn a_damaged_layer_leaves_no_image() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("a", "body")]).damage("body"));
    assert!(matches!(world.store().ensure(&source, "linux", "amd64"), Err(ImageError::Archive { .. })));
    world.store();
    assert_eq!(world.entries(), 0);
}

#[test]
fn what_an_interrupted_unpacking_left_is_swept() {
    let world = World::new();
    let source = world.archive(Sample::default().image("linux", &[("a", "body")]));
    let image = world.store().ensure(&source, "linux", "amd64").unwrap();
    let half = world.store_dir().join(format!("{UNFINISHED}sha256-0"));
    std::fs::create_dir_all(half.join("files/deep")).unwrap();
    world.store();
    assert!(!half.exists() && image.files.exists());
}

#[test]
fn a_directory_is_its_own_image() {
    let world = World::new();
    let dir = world.dir.path().join("app");
    std::fs::create_dir(&dir).unwrap();
    let image = world.store().ensure(&Source::Dir(dir.clone()), "linux", "amd64").unwrap();
    assert_eq!(image, Image { files: dir.clone(), runs: Runs::default() });
    std::fs::write(dir.join("file"), "").unwrap();
    for missing in [dir.join("file"), dir.join("nothing")] {
        let error = world.store().ensure(&Source::Dir(missing), "linux", "amd64").unwrap_err();
        assert!(matches!(error, ImageError::NotADirectory { .. }), "{error}");
    }
}

#[test]
fn a_reference_is_refused_with_what_to_do() {
    let error =
        World::new().store().ensure(&Source::Reference("busybox".into()), "linux", "amd64").unwrap_err();
    assert!(error.to_string().contains("oci-archive:PATH"), "{error}");
}
