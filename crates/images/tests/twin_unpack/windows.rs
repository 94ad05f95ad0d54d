//! What only Windows knows: attribute bits, security descriptors, names without case.

use std::fs;
use std::os::windows::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use images::unpack::{Layout, Unpack};

use crate::support::{Layer, World};

const READ_ONLY_AND_HIDDEN: u32 = 3;
/// `D:(A;;FA;;;SY)(A;;FA;;;WD)`, self-relative.
const DESCRIPTOR: &[u8] =
    b"AQAEgAAAAAAAAAAAAAAAABQAAAACADAAAgAAAAAAFAD/AR8AAQEAAAAAAAUSAAAAAAAUAP8BHwABAQAAAAAAAQAAAAA=";

fn how() -> Unpack<'static> {
    Unpack { layout: Layout::Windows, ..Unpack::default() }
}

/// That the descriptor is read and not refused; what becomes of it is read back where it is given, in `os`.
#[test]
fn attributes_and_descriptors() {
    let world = World::new();
    let records: [(&str, &[u8]); 3] =
        [("MSWINDOWS.fileattr", b"3"), ("MSWINDOWS.rawsd", DESCRIPTOR), ("mtime", b"1500000000.5")];
    let layer = Layer::new().dir("Files").records(&records).file("Files/Locked.txt", "one");
    let report = world.run(&layer.done(), &how()).unwrap();
    assert_eq!(report.warnings, Vec::<String>::new());
    let found = fs::metadata(world.root().join("Locked.txt")).unwrap();
    assert_eq!(found.file_attributes() & READ_ONLY_AND_HIDDEN, READ_ONLY_AND_HIDDEN);
    let wanted = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500_000_000_500);
    assert_eq!(found.modified().unwrap(), wanted);

    let other_case = Layer::new().file("Files/LOCKED.TXT", "two").done();
    world.run(&other_case, &how()).unwrap();
    assert_eq!(world.read("locked.txt"), "two", "a later layer replaces a read-only file in any spelling");
    os::file::remove_tree(&world.root()).unwrap();
}

#[test]
fn a_descriptor_that_is_no_base64_is_warned_of() {
    let world = World::new();
    let records: [(&str, &[u8]); 1] = [("MSWINDOWS.rawsd", b"D:(A;;FA;;;SY)")];
    let layer = Layer::new().dir("Files").records(&records).file("Files/Open.txt", "one");
    let report = world.run(&layer.done(), &how()).unwrap();
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert!(
        warning.contains("Open.txt") && warning.ends_with("not a sound security descriptor"),
        "{warning}"
    );
    assert_eq!(world.read("Open.txt"), "one");
}

#[test]
fn a_whiteout_hides_a_file_in_any_spelling() {
    let world = World::new();
    world.run(&Layer::new().file("Files/Program Files/App.exe", "x").done(), &how()).unwrap();
    world.run(&Layer::new().file("Files/PROGRAM FILES/.wh.app.EXE", "").done(), &how()).unwrap();
    assert!(world.has("program files") && !world.has("Program Files/App.exe"));
}

#[test]
fn a_path_longer_than_windows_once_knew() {
    let world = World::new();
    let name = format!("Files/{}/file", ["a-directory-with-a-name"; 20].join("/"));
    let layer = Layer::new().records(&[("path", name.as_bytes())]).file("x", "deep");
    let report = world.run(&layer.done(), &how()).unwrap();
    assert_eq!((report.implied.len(), report.size), (20, 4));
}
