use std::collections::BTreeMap;

use flate2::read::GzDecoder;

use super::*;

struct Seen {
    name: String,
    kind: EntryType,
    mode: u32,
    records: BTreeMap<String, String>,
    bytes: Vec<u8>,
}

fn seen(tree: &Tree, shape: Shape) -> Vec<Seen> {
    let (packed, _) = write_to(Vec::new(), tree, shape, 7, Caller::silent()).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(packed.into.as_slice()));
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let mut entry = entry.unwrap();
            let records = entry.pax_extensions().unwrap().map(|records| {
                records
                    .map(|r| r.unwrap())
                    .map(|r| (r.key().unwrap().into(), r.value().unwrap().into()))
                    .collect()
            });
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 7));
            let (kind, mode) = (header.entry_type(), header.mode().unwrap());
            let name = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            Seen { name, kind, mode, records: records.unwrap_or_default(), bytes }
        })
        .collect()
}

fn file(text: &str, mode: u32) -> Node {
    Node::File { from: From::Bytes(text.into()), mode }
}

#[test]
fn a_linux_layer_is_plain() {
    let mut tree = Tree::new(false);
    tree.put("bin/app", file("x", 0o755));
    tree.put("bin/link", Node::Link { target: "app".into(), directory: false });
    let seen = seen(&tree, Shape::Linux);
    let short: Vec<_> = seen.iter().map(|each| (each.name.as_str(), each.kind, each.mode)).collect();
    assert_eq!(
        short,
        [
            ("bin/", EntryType::Directory, 0o755),
            ("bin/app", EntryType::Regular, 0o755),
            ("bin/link", EntryType::Symlink, 0o777)
        ]
    );
    assert!(seen.iter().all(|each| each.records.is_empty()));
}

#[test]
fn long_and_foreign_names_survive() {
    let mut tree = Tree::new(false);
    let long = ["directory"; 20].join("/");
    tree.put(&format!("{long}/ä"), file("x", 0o644));
    tree.put("l", Node::Link { target: long.clone(), directory: false });
    assert!(
        seen(&tree, Shape::Linux).iter().any(|each| each.name == format!("{long}/ä") && each.bytes == b"x")
    );
}

// proves: HP-17 pure
#[test]
fn a_windows_layer_has_what_its_importer_reads() {
    let mut tree = Tree::new(true);
    tree.put("app/a.exe", file("x", 0o644));
    let seen = seen(&tree, Shape::Windows);
    let names: Vec<_> = seen.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(names, ["Files/", "Hives/", "Files/app/", "Files/app/a.exe"]);
    let attributes: Vec<_> = seen.iter().map(|each| each.records["MSWINDOWS.fileattr"].as_str()).collect();
    assert_eq!(attributes, ["16", "16", "16", "32"]);
    assert!(seen.iter().all(|each| each.records["LIBARCHIVE.creationtime"] == "7.0"));
    let descriptors: Vec<_> = seen.iter().map(|each| each.records.contains_key("MSWINDOWS.rawsd")).collect();
    assert_eq!(descriptors, [false, false, true, true]);
}

// proves: HP-16 pure
#[test]
fn the_base_layer_has_five_hives_where_windows_looks_for_them() {
    let seen = seen(&windows_base(), Shape::WindowsBase);
    assert!(seen.iter().all(|each| each.name.starts_with("Files/")));
    let hives: Vec<_> = seen.iter().filter(|each| each.kind == EntryType::Regular).collect();
    let names: Vec<_> =
        hives.iter().map(|each| each.name.trim_start_matches("Files/Windows/System32/config/")).collect();
    assert_eq!(names, hive::NAMES);
    assert!(hives.iter().all(|each| each.bytes.starts_with(b"regf")));
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let once = |order: [&str; 2]| {
        let mut tree = Tree::new(true);
        order.iter().for_each(|name| tree.put(name, file(name, 0o644)));
        write(&tree, Shape::Windows, 0, dir.path(), Caller::silent()).unwrap()
    };
    let written = once(["a/b", "c"]);
    assert_eq!(written, once(["c", "a/b"]));
    let bytes = std::fs::read(dir.path().join(written.digest.trim_start_matches("sha256:"))).unwrap();
    assert_eq!((bytes.len() as u64, crate::sample::digest(&bytes)), (written.size, written.digest));
    let mut plain = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
    assert_eq!(crate::sample::digest(&plain), written.diff_id);
}
