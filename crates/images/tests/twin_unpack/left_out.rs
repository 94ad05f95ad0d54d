//! What Windows layers have and nobody keeps: it is said, and the files come without it.

use images::unpack::{Layout, Unpack};

use crate::support::{Layer, World};

fn how() -> Unpack<'static> {
    Unpack { layout: Layout::Windows, ..Unpack::default() }
}

#[test]
fn extended_attributes_of_windows_are_warned_of_once_a_layer() {
    let world = World::new();
    let some: [(&str, &[u8]); 1] = [("MSWINDOWS.xattr.$KERNEL.PURGE.APPID", b"AAAA")];
    let taken_back: [(&str, &[u8]); 1] = [("MSWINDOWS.xattr.NOTE", b"")];
    let layer = Layer::new().records(&taken_back).file("Files/plain.dll", "p");
    let layer = layer.records(&some).file("Files/one.dll", "1").records(&some).dir("Files/more");
    let report = world.run(&layer.done(), &how()).unwrap();
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert!(warning.starts_with("Files/one.dll: extended attributes of Windows are left out"), "{warning}");
    assert_eq!((world.read("plain.dll"), world.read("one.dll")), ("p".into(), "1".into()));
    assert!(world.has("more"));

    let again = Layer::new().records(&some).file("Files/two.dll", "2").done();
    assert_eq!(world.run(&again, &how()).unwrap().warnings.len(), 1, "another layer says it again");
}

#[test]
fn a_further_stream_of_a_file_is_warned_of() {
    let world = World::new();
    let layer = Layer::new().file("Files/one.txt", "1").file("Files/one.txt:Zone.Identifier", "[Zone]");
    let report = world.run(&layer.done(), &how()).unwrap();
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert_eq!(warning, "Files/one.txt:Zone.Identifier: a further stream of a file is left out");
    assert_eq!(world.read("one.txt"), "1");
}
