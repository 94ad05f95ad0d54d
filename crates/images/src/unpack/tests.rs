use std::fs;

use ::tar::EntryType;

use super::place::MOST_LINKS;
use super::*;

mod stream;

/// A layer of raw headers, because the tar crate refuses to write what an attacker would.
struct Layer(::tar::Builder<Vec<u8>>);

impl Layer {
    fn new() -> Layer {
        Layer(::tar::Builder::new(Vec::new()))
    }

    fn raw(mut self, name: &str, kind: EntryType, link: &str, body: &[u8]) -> Layer {
        let mut header = ::tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(body.len() as u64);
        header.set_cksum();
        self.0.append(&header, body).unwrap();
        self
    }

    fn file(self, name: &str, body: &str) -> Layer {
        self.raw(name, EntryType::Regular, "", body.as_bytes())
    }

    fn dir(self, name: &str) -> Layer {
        self.raw(name, EntryType::Directory, "", b"")
    }

    fn symlink(self, name: &str, to: &str) -> Layer {
        self.raw(name, EntryType::Symlink, to, b"")
    }

    fn hard_link(self, name: &str, to: &str) -> Layer {
        self.raw(name, EntryType::Link, to, b"")
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

/// A directory that holds the image beside something that must not be touched.
#[derive(Debug)]
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("image")).unwrap();
        fs::write(dir.path().join("outside"), "untouched").unwrap();
        World { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn apply(&self, layer: Layer) -> Result<(), UnpackError> {
        apply(layer.bytes().as_slice(), &self.root(), Layout::Plain)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap_or_else(|e| format!("{name}: {e}"))
    }

    fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root().join(name)).is_ok()
    }

    fn assert_outside_untouched(&self) {
        assert_eq!(fs::read_to_string(self.dir.path().join("outside")).unwrap(), "untouched");
        assert_eq!(fs::read_dir(self.dir.path()).unwrap().count(), 2);
    }
}

#[test]
fn files_directories_and_links_arrive() {
    let world = World::new();
    let layer = Layer::new().dir("d/").file("d/f", "x").file("deep/er/g", "y").hard_link("h", "d/f");
    world.apply(layer).unwrap();
    assert_eq!(
        (world.read("d/f"), world.read("deep/er/g"), world.read("h")),
        ("x".into(), "y".into(), "x".into())
    );
}

#[test]
fn a_later_layer_wins() {
    let world = World::new();
    world.apply(Layer::new().file("f", "old").dir("d").file("d/x", "x").file("n", "n")).unwrap();
    world
        .apply(Layer::new().file("f", "new").file("d", "now a file").file("n/below", "now a directory"))
        .unwrap();
    assert_eq!((world.read("f"), world.read("d")), ("new".into(), "now a file".into()));
    assert_eq!(world.read("n/below"), "now a directory");
}

#[test]
fn a_directory_that_is_there_keeps_its_content() {
    let world = World::new();
    world.apply(Layer::new().dir("d").file("d/x", "x")).unwrap();
    world.apply(Layer::new().dir("d").file("d/y", "y")).unwrap();
    assert_eq!((world.read("d/x"), world.read("d/y")), ("x".into(), "y".into()));
}

#[test]
fn whiteouts_hide_what_was_below() {
    let world = World::new();
    world.apply(Layer::new().file("a", "").file("d/x", "").file("keep", "")).unwrap();
    world.apply(Layer::new().file(".wh.a", "").file(".wh.d", "").file(".wh.never-there", "")).unwrap();
    assert!(!world.has("a") && !world.has("d") && world.has("keep") && !world.has(".wh.a"));
}

#[test]
fn an_opaque_directory_hides_only_the_layers_below() {
    let world = World::new();
    world.apply(Layer::new().file("d/old", "").file("d/sub/old", "").file("d/gone/x", "")).unwrap();
    world.apply(Layer::new().file("d/sub/new", "n").file("d/new", "n").file("d/.wh..wh..opq", "")).unwrap();
    assert!(world.has("d/new") && world.has("d/sub/new"));
    assert!(!world.has("d/old") && !world.has("d/sub/old") && !world.has("d/gone"));
}

#[test]
fn a_windows_layer_brings_what_is_under_files() {
    let world = World::new();
    let layer = Layer::new()
        .file("Files/app.exe", "x")
        .file("Hives/System_Delta", "h")
        .file("UtilityVM/Files/y", "y");
    apply(layer.bytes().as_slice(), &world.root(), Layout::Windows).unwrap();
    assert!(world.has("app.exe"));
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 1);
}

#[test]
fn names_that_climb_are_refused() {
    for name in ["../outside", "a/../../outside", "..", "a/.."] {
        let world = World::new();
        let error = world.apply(Layer::new().file(name, "evil")).unwrap_err();
        assert!(matches!(error, UnpackError::Escapes { .. }), "{name}: {error}");
        world.assert_outside_untouched();
    }
    for name in [".wh...", ".wh..", "d/.wh.."] {
        let world = World::new();
        assert!(world.apply(Layer::new().file(name, "")).is_err(), "{name}");
        world.assert_outside_untouched();
        assert!(world.has(""));
    }
}

#[test]
fn a_rooted_name_lands_inside() {
    let world = World::new();
    world.apply(Layer::new().file("/etc/x", "in")).unwrap();
    assert_eq!(world.read("etc/x"), "in");
}

#[test]
fn links_lead_inside_only() {
    for to in ["..", "../..", "/..", "../../../../../../..", "/"] {
        let world = World::new();
        world.apply(Layer::new().symlink("l", to).file("l/outside", "caught")).unwrap();
        world.assert_outside_untouched();
        assert_eq!(world.read("outside"), "caught", "{to}");
    }
    let world = World::new();
    world.apply(Layer::new().dir("usr/bin").symlink("bin", "usr/bin").file("bin/sh", "s")).unwrap();
    assert_eq!(world.read("usr/bin/sh"), "s");
    world.apply(Layer::new().symlink("abs", "/usr/bin").file("abs/ls", "l")).unwrap();
    assert_eq!(world.read("usr/bin/ls"), "l");
}

#[test]
fn a_file_replaces_a_link_instead_of_writing_through_it() {
    let world = World::new();
    world.apply(Layer::new().symlink("l", "../outside").file("l", "mine")).unwrap();
    world.assert_outside_untouched();
    assert_eq!(world.read("l"), "mine");
}

#[test]
fn hard_links_to_the_outside_are_refused() {
    for to in ["../outside", "/../outside", ""] {
        let world = World::new();
        assert!(world.apply(Layer::new().hard_link("h", to)).is_err(), "{to}");
        assert!(!world.has("h"));
    }
    let world = World::new();
    let layer = Layer::new().symlink("up", "..").hard_link("h", "up/outside");
    assert!(matches!(world.apply(layer), Err(UnpackError::LinkTarget { .. })));
}

#[test]
fn a_circle_of_links_is_an_error() {
    let world = World::new();
    let layer = Layer::new().symlink("a", "b").symlink("b", "a").file("a/x", "");
    assert!(matches!(world.apply(layer), Err(UnpackError::Links { .. })));
}

#[test]
fn exactly_as_many_links_as_a_kernel_follows() {
    let chain = |length: usize| {
        let layer = Layer::new().dir("end");
        let layer = (1..length).fold(layer, |l, i| l.symlink(&format!("l{i}"), &format!("l{}", i + 1)));
        layer.symlink(&format!("l{length}"), "end").file("l1/x", "")
    };
    World::new().apply(chain(MOST_LINKS)).unwrap();
    assert!(matches!(World::new().apply(chain(MOST_LINKS + 1)), Err(UnpackError::Links { .. })));
}

#[test]
fn a_file_of_an_unknown_kind_is_refused() {
    let error = World::new().apply(Layer::new().raw("x", EntryType::new(b'Q'), "", b"")).unwrap_err();
    assert_eq!(error.to_string(), r#""x" is an entry of type 'Q', which an image cannot bring"#);
}

#[test]
fn a_whiteout_does_not_hide_what_its_own_layer_brings() {
    for late in [false, true] {
        let world = World::new();
        world.apply(Layer::new().file("d/old", "").file("f", "old")).unwrap();
        let (marks, files) = (
            |l: Layer| l.file(".wh.d", "").file(".wh.f", ""),
            |l: Layer| l.file("d/new", "n").file("f", "new"),
        );
        let layer = if late { marks(files(Layer::new())) } else { files(marks(Layer::new())) };
        world.apply(layer).unwrap();
        assert!(world.has("d/new") && !world.has("d/old"), "late: {late}");
        assert_eq!(world.read("f"), "new");
    }
}

#[test]
fn an_opaque_directory_hides_what_is_below_in_directories_that_are_described_again() {
    let world = World::new();
    world.apply(Layer::new().file("d/sub/old", "")).unwrap();
    world.apply(Layer::new().dir("d").dir("d/sub").file("d/.wh..wh..opq", "")).unwrap();
    assert!(world.has("d/sub") && !world.has("d/sub/old"));
}

#[test]
fn device_names_of_windows_are_known() {
    for name in ["con", "NUL.txt", "com1", "LPT9.x.y", "aux ", "CONIN$", "COM¹"] {
        assert!(is_reserved(name), "{name}");
    }
    for name in ["console", "com", "com10", "com0", "null", "lpt", ""] {
        assert!(!is_reserved(name), "{name}");
    }
}

#[test]
fn a_layer_that_is_no_tar_is_an_error() {
    let world = World::new();
    for bytes in [&b"not a tar file at all, but long enough"[..], &[0x1f, 0x8b, 1, 2, 3]] {
        assert!(apply(bytes, &world.root(), Layout::Plain).is_err());
    }
    apply(&b""[..], &world.root(), Layout::Plain).unwrap();
}

proptest::proptest! {
    #[test]
    fn no_sequence_of_hostile_entries_leaves_the_root(
        entries in proptest::collection::vec((0u8..5, "[a-c/.]{1,9}", "[a-c/.]{1,9}"), 1..12)
    ) {
        let world = World::new();
        let layer = entries.iter().fold(Layer::new(), |layer, (kind, name, link)| match kind {
            0 => layer.file(name, "x"),
            1 => layer.dir(name),
            2 => layer.symlink(name, link),
            3 => layer.hard_link(name, link),
            _ => layer.file(&format!("{name}/.wh.{}", link.replace('/', "")), ""),
        });
        drop(world.apply(layer));
        world.assert_outside_untouched();
    }
}
