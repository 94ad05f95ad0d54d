use std::path::{Path, PathBuf};

use images::document::Runs;
use os::tree::{Attributes, Dir};

use super::*;

/// An image in one directory, and the directory of a container.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("image/bin/deep")).unwrap();
        std::fs::write(dir.path().join("image/bin/app"), "x").unwrap();
        World { dir }
    }

    fn files(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn container(&self) -> ContainerDir {
        ContainerDir::at(self.dir.path().join("main-0"))
    }

    fn room(&self) -> Room {
        Room {
            image: self.dir.path().join("hpc"),
            layers: vec![self.files()],
            copy: None,
            volumes: Vec::new(),
            cwd: PathBuf::new(),
        }
    }

    fn image(&self, files: Files) -> Image {
        Image { id: None, files, runs: Runs::default() }
    }
}

fn mode(path: &Path) -> Option<u32> {
    Dir::open(path).unwrap().found().mode.map(|mode| mode & 0o7777)
}

fn set(path: &Path, mode: u32) {
    let attributes = Attributes { mode: Some(mode), ..Attributes::default() };
    Dir::open(path).unwrap().set(&attributes).unwrap();
}

#[test]
fn a_copy_brings_the_whole_tree() {
    let world = World::new();
    let copy = world.dir.path().join("copy");
    let made = copied(&Room { copy: Some(copy.clone()), ..world.room() }).unwrap();
    assert_eq!(std::fs::read_to_string(copy.join("bin/app")).unwrap(), "x");
    assert!(copy.join("bin/deep").is_dir() && made.overlay.is_none());
}

#[test]
fn what_a_layer_only_implies_looks_as_it_does_below() {
    let world = World::new();
    let bottom = world.files();
    set(&bottom.join("bin/deep"), 0o1777);
    set(&bottom.join("bin"), 0o511);
    let above = |path: &str| Above { path: path.into(), like: bottom.join(path) };
    let files = Files::Layers { lower: vec![bottom.clone()], implied: vec![above("bin"), above("bin/deep")] };
    for sized in [false, true] {
        let made = make(&world.room(), &world.image(files.clone()), &world.container(), sized).unwrap();
        let overlay = made.overlay.unwrap();
        let place = if sized { &overlay.lower[0] } else { &overlay.upper };
        assert_eq!((mode(&place.join("bin")), mode(&place.join("bin/deep"))), (Some(0o511), Some(0o1777)));
        make(&world.room(), &world.image(files.clone()), &world.container(), sized)
            .expect("once more: the directories are there");
    }
}

// proves: HP-12 pure
#[test]
fn a_link_goes_over_what_the_image_has_and_the_way_there_keeps_its_looks() {
    let world = World::new();
    set(&world.files().join("bin"), 0o750);
    let image = world.image(Files::Dir(world.files()));
    let made = make(&world.room(), &image, &world.container(), false).unwrap();
    let upper = made.overlay.as_ref().unwrap().upper.clone();
    for _ in 0..2 {
        made.link(Path::new("bin/app"), Path::new("/volume/file"), true, &[world.files()]).unwrap();
        made.link(Path::new("var/run/data"), Path::new("/volume"), false, &[world.files()]).unwrap();
    }
    assert_eq!(std::fs::read_link(upper.join("bin/app")).unwrap(), Path::new("/volume/file"));
    assert_eq!(std::fs::read_link(upper.join("var/run/data")).unwrap(), Path::new("/volume"));
    assert_eq!(mode(&upper.join("bin")), Some(0o750));
    assert_eq!(
        std::fs::read_to_string(world.files().join("bin/app")).unwrap(),
        "x",
        "the image is untouched"
    );
}
