//! One layer alone, in the form that overlayfs stacks.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use images::unpack::{Report, Target, Unpack, UnpackError};
use os::tree::Marks;
use tar::{EntryType, Header};

use crate::attributes::attribute;
use crate::support::{Layer, World};

fn marks() -> Marks {
    let dir = tempfile::tempdir().unwrap();
    os::tree::overlay_marks(dir.path()).unwrap()
}

impl World {
    fn overlay(&self, layer: Layer) -> Result<Report, UnpackError> {
        let how = Unpack { target: Target::Overlay(marks()), ..Unpack::default() };
        self.run(&layer.done(), &how)
    }

    fn is_whiteout(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root().join(name))
            .is_ok_and(|found| found.file_type().is_char_device() && found.rdev() == 0)
    }

    fn is_opaque(&self, name: &str) -> bool {
        let mark = match marks() {
            Marks::Trusted => "trusted.overlay.opaque",
            Marks::User => "user.overlay.opaque",
        };
        attribute(&self.root().join(name), mark).as_deref() == Some(b"y")
    }
}

#[test]
fn whiteouts_become_marks() {
    let world = World::new();
    let layer = Layer::new().file("d/.wh.gone", "").file("o/.wh..wh..opq", "").file("o/new", "n");
    let report = world.overlay(layer).unwrap();
    assert!(world.is_whiteout("d/gone") && !world.has("d/.wh.gone"));
    assert!(world.is_opaque("o") && !world.is_opaque("d") && world.has("o/new"));
    assert_eq!(report.implied, [Path::new("d/"), Path::new("o/")]);
}

#[test]
fn a_directory_in_the_place_of_a_hidden_one_is_opaque() {
    for late in [false, true] {
        let world = World::new();
        let layer = if late {
            Layer::new().dir("d").file("d/new", "").file(".wh.d", "").file("f", "new").file(".wh.f", "")
        } else {
            Layer::new().file(".wh.d", "").dir("d").file("d/new", "").file(".wh.f", "").file("f", "new")
        };
        world.overlay(layer).unwrap();
        assert!(world.is_opaque("d") && world.has("d/new"), "late: {late}");
        assert_eq!(world.read("f"), "new");
    }
}

#[test]
fn a_hard_link_into_another_layer_is_told_apart() {
    let world = World::new();
    let error = world.overlay(Layer::new().hard_link("h", "usr/bin/below")).unwrap_err();
    assert!(matches!(error, UnpackError::LinkTarget { .. }), "{error}");
}

#[test]
fn a_device_that_would_be_a_mark_is_left_out() {
    let world = World::new();
    let zero = |header: &mut Header| {
        header.set_device_major(0).unwrap();
        header.set_device_minor(0).unwrap();
    };
    let report =
        world.overlay(Layer::new().with(b"passwd", EntryType::Char, b"", zero).file("f", "")).unwrap();
    assert!(!world.has("passwd") && world.has("f"));
    assert!(report.warnings[0].contains("passwd: the device 0:0"), "{:?}", report.warnings);
}

/// What the kernel makes of the marks.
#[cfg(target_os = "linux")]
#[test]
fn the_kernel_stacks_the_layers() {
    if !os::elevated() {
        testbed::skip!("only root mounts an overlay");
    }
    let (lower, upper) = (World::new(), World::new());
    lower.overlay(Layer::new().file("a", "a").file("d/x", "").file("o/old", "").file("keep", "k")).unwrap();
    upper
        .overlay(
            Layer::new().file(".wh.a", "").file(".wh.d", "").file("o/.wh..wh..opq", "").file("o/new", "n"),
        )
        .unwrap();
    let at = tempfile::tempdir().unwrap();
    let script = format!(
        "mount -t overlay overlay -o lowerdir={}:{} {at} && cd {at} && find . | sort",
        upper.root().display(),
        lower.root().display(),
        at = at.path().display()
    );
    let seen = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&seen.stdout), ".\n./keep\n./o\n./o/new\n", "{seen:?}");
}
