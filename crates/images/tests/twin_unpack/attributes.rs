//! Modes, owners, times, extended attributes, holes.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use images::unpack::{Layout, Report, Unpack, UnpackError, apply};
use tar::{EntryType, Header};

use crate::support::{Layer, REGULAR, World};

fn entry(layer: Layer, name: &str, kind: EntryType, set: impl Fn(&mut Header)) -> Layer {
    layer.with(name.as_bytes(), kind, b"", set)
}

fn with_records(layer: Layer, records: &[(&str, &str)], name: &str, body: &[u8]) -> Layer {
    let records: Vec<_> = records.iter().map(|(key, value)| (*key, value.as_bytes())).collect();
    layer.records(&records).raw(name, REGULAR, "", body)
}

impl World {
    fn apply(&self, layer: Layer) -> Result<Report, UnpackError> {
        self.run(&layer.done(), &Unpack::default())
    }
}

pub(crate) fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 100];
    let length = rustix::fs::lgetxattr(path, name, &mut value).ok()?;
    Some(value[..length].to_vec())
}

fn found(world: &World, name: &str) -> fs::Metadata {
    fs::symlink_metadata(world.root().join(name)).unwrap()
}

#[test]
fn modes_owners_and_times_are_those_of_the_layer() {
    let world = World::new();
    let set = |mode, time| {
        move |header: &mut Header| {
            header.set_mode(mode);
            header.set_uid(1234);
            header.set_gid(5678);
            header.set_mtime(time);
        }
    };
    let layer = entry(Layer::new(), "d", EntryType::Directory, set(0o2750, 1000));
    let layer = entry(layer, "d/sudo", EntryType::Regular, set(0o4755, 2000));
    let layer = entry(layer, "d/open", EntryType::Regular, set(0o666, 3000));
    let layer = entry(layer, "tmp", EntryType::Directory, set(0o1777, 4000)).file("tmp/x", "");
    world.apply(layer).unwrap();
    let modes = ["d", "d/sudo", "d/open", "tmp"].map(|name| found(&world, name).mode() & 0o7777);
    assert_eq!(modes, [0o2750, 0o4755, 0o666, 0o1777]);
    let times = ["d", "d/sudo", "d/open", "tmp"].map(|name| found(&world, name).mtime());
    assert_eq!(times, [1000, 2000, 3000, 4000], "a directory's too, though files came into it");
    if os::elevated() {
        let owner = found(&world, "d/sudo");
        assert_eq!((owner.uid(), owner.gid()), (1234, 5678));
    }
}

#[test]
fn a_directory_that_a_later_layer_passes_through_keeps_its_time() {
    let world = World::new();
    let layer = entry(Layer::new(), "d", EntryType::Directory, |header| {
        header.set_mode(0o555);
        header.set_mtime(1000);
    });
    world.apply(layer).unwrap();
    world.apply(Layer::new().file("d/new", "n")).unwrap();
    assert_eq!((found(&world, "d").mtime(), found(&world, "d").mode() & 0o777), (1000, 0o555));
}

#[test]
fn long_names_fractions_and_extended_attributes() {
    let world = World::new();
    let long = format!("{}/file", ["directory"; 30].join("/"));
    let records = [
        ("path", long.as_str()),
        ("mtime", "1500000000.5"),
        ("SCHILY.xattr.user.note", "kept"),
        ("SCHILY.xattr.user.overlay.opaque", "y"),
        ("SCHILY.xattr.trusted.overlay.redirect", "/etc"),
    ];
    world.apply(with_records(Layer::new(), &records, "short", b"x")).unwrap();
    let file = found(&world, &long);
    assert_eq!((file.mtime(), file.mtime_nsec()), (1_500_000_000, 500_000_000));
    let told = |name| attribute(&world.root().join(&long), name);
    assert_eq!(told("user.note").as_deref(), Some(&b"kept"[..]));
    assert_eq!((told("user.overlay.opaque"), told("trusted.overlay.redirect")), (None, None));
}

#[test]
fn fifos_and_devices_are_made_where_they_can_be() {
    let world = World::new();
    let device = |header: &mut Header| {
        header.set_mode(0o666);
        header.set_device_major(1).unwrap();
        header.set_device_minor(3).unwrap();
    };
    let layer = entry(Layer::new(), "null", EntryType::Char, device).raw("fifo", EntryType::Fifo, "", b"");
    let report = world.apply(layer).unwrap();
    assert!(found(&world, "fifo").file_type().is_fifo());
    if os::elevated() {
        let null = found(&world, "null");
        assert!(null.file_type().is_char_device() && null.rdev() == 0x103 && null.mode() & 0o777 == 0o666);
    } else {
        assert!(!world.has("null") && report.warnings[0].contains("only root"));
    }
}

#[test]
fn files_with_holes_in_all_versions() {
    let size = "1000000";
    let map = "0,3,999990,4";
    let mut data = b"2\n0\n3\n999990\n4\n".to_vec();
    data.resize(512, 0);
    data.extend(b"onefour");
    let layer = with_records(
        Layer::new(),
        &[
            ("GNU.sparse.major", "1"),
            ("GNU.sparse.minor", "0"),
            ("GNU.sparse.name", "new"),
            ("GNU.sparse.realsize", size),
        ],
        "x",
        &data,
    );
    let layer = with_records(
        layer,
        &[("GNU.sparse.size", size), ("GNU.sparse.map", map), ("GNU.sparse.numblocks", "2")],
        "middle",
        b"onefour",
    );
    let pairs = [
        ("GNU.sparse.size", size),
        ("GNU.sparse.offset", "0"),
        ("GNU.sparse.numbytes", "3"),
        ("GNU.sparse.offset", "999990"),
        ("GNU.sparse.numbytes", "4"),
    ];
    let layer = with_records(layer, &pairs, "old", b"onefour");
    let world = World::new();
    world.apply(layer.file("after", "a")).unwrap();
    for name in ["new", "middle", "old"] {
        let bytes = fs::read(world.root().join(name)).unwrap();
        assert_eq!(
            (bytes.len(), &bytes[..3], &bytes[999_990..999_994]),
            (1_000_000, &b"one"[..], &b"four"[..]),
            "{name}"
        );
        assert!(found(&world, name).blocks() < 100, "{name} has no holes");
    }
    assert_eq!(world.read("after"), "a");
}

/// The program that most layers with holes come from.
#[test]
fn files_with_holes_as_tar_writes_them() {
    for format in ["gnu", "posix"] {
        let dir = tempfile::tempdir().unwrap();
        let script = "truncate -s 40M f; for n in 1 3 5 7 9 11 13; do printf here | dd of=f bs=1M seek=$n conv=notrunc status=none; done";
        let ran =
            |command: &mut Command| assert!(command.current_dir(dir.path()).status().unwrap().success());
        ran(Command::new("sh").args(["-c", script]));
        ran(Command::new("tar").args(["--sparse", "--format", format, "-cf", "layer.tar", "f"]));
        let world = World::new();
        apply(fs::File::open(dir.path().join("layer.tar")).unwrap(), &world.root(), Layout::Plain).unwrap();
        assert!(
            fs::read(dir.path().join("f")).unwrap() == fs::read(world.root().join("f")).unwrap(),
            "{format}"
        );
        assert!(found(&world, "f").blocks() < 1000, "{format}");
    }
}
