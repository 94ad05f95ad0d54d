use flate2::Compression as Level;
use flate2::write::GzEncoder;

use super::*;
use crate::blobs::LONGEST_DOCUMENT;
use crate::sample::tar_of;

fn opened(bytes: &[u8]) -> Result<Package, TransferError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    std::fs::write(&path, bytes).unwrap();
    Package::open(&path, dir.path())
}

fn text(package: &Package, name: &str) -> String {
    String::from_utf8(package.document(name).unwrap()).unwrap()
}

fn with_links(links: &[(tar::EntryType, &str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (kind, name, to) in links {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(0);
        tar.append_link(&mut header, name, to).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(4);
    tar.append_data(&mut header, "a/layer.tar", &b"here"[..]).unwrap();
    tar.into_inner().unwrap()
}

#[test]
fn plain_and_compressed_archives_read_alike() {
    let plain = tar_of(&[("./index.json", "{}"), ("blobs/x", "1")]);
    let mut gzip = GzEncoder::new(Vec::new(), Level::fast());
    gzip.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
    for bytes in [plain.clone(), gzip.finish().unwrap(), zstd] {
        let package = opened(&bytes).unwrap();
        assert_eq!((text(&package, "index.json"), text(&package, "blobs/x")), ("{}".into(), "1".into()));
        assert!(package.has("./index.json") && !package.has("blobs") && !package.is_dir());
    }
    let dir = tempfile::tempdir().unwrap();
    let piped = Package::read(plain.as_slice(), "standard input", dir.path()).unwrap();
    assert_eq!(text(&piped, "blobs/x"), "1");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "what is laid down has no name");
}

/// Some megabytes of zstd filled the disk of a node.
#[test]
fn what_is_laid_down_has_a_limit_whatever_it_is_packed_with() {
    let dir = tempfile::tempdir().unwrap();
    let plain = tar_of(&[("index.json", &"0".repeat(4 * CHUNK))]);
    let packed = zstd::encode_all(plain.as_slice(), 1).unwrap();
    let whole = plain.len() as u64;
    let read =
        |longest, bytes: &[u8]| Package::read_at_most(longest, bytes, "standard input", dir.path()).map(drop);
    for bytes in [&plain, &packed] {
        read(whole, bytes).unwrap();
        for longest in [whole - 1, 0] {
            let error = read(longest, bytes).unwrap_err();
            assert!(matches!(error, TransferError::TooLarge { longest: said, .. } if said == longest));
        }
    }
}

#[test]
fn a_copy_that_cannot_be_written_is_not_the_archives_fault() {
    let dir = tempfile::tempdir().unwrap();
    let plain = tar_of(&[("index.json", "{}")]);
    let error = Package::read(plain.as_slice(), "standard input", &dir.path().join("none")).unwrap_err();
    assert!(matches!(error, TransferError::Write { .. }), "{error}");
}

#[test]
fn other_compressions_are_named() {
    let error = opened(b"\xfd7zXZ\0\0\0\0\0\0\0\0").unwrap_err();
    assert!(
        matches!(&error, TransferError::Packed { found, .. } if found == "compressed with xz"),
        "{error}"
    );
    assert!(matches!(opened(b"no tar file at all, only text").unwrap_err(), TransferError::Tar { .. }));
    // Cut in the middle of a member.
    let cut = tar_of(&[("a", &"x".repeat(2000))]);
    assert!(matches!(opened(&cut[..1000]), Err(TransferError::Cut { name, .. }) if name == "a"));
}

#[test]
fn a_link_leads_to_the_layer_that_is_shared() {
    let (symbolic, hard) = (tar::EntryType::Symlink, tar::EntryType::Link);
    let package = opened(&with_links(&[
        (symbolic, "b/layer.tar", "../a/layer.tar"),
        (hard, "c/layer.tar", "a/layer.tar"),
    ]))
    .unwrap();
    for name in ["a/layer.tar", "b/layer.tar", "c/layer.tar"] {
        assert_eq!(text(&package, name), "here");
    }
}

#[test]
fn links_neither_leave_nor_go_in_circles() {
    let symbolic = tar::EntryType::Symlink;
    let package = opened(&with_links(&[
        (symbolic, "round", "about"),
        (symbolic, "about", "round"),
        (symbolic, "out", "../../etc/passwd"),
        (symbolic, "root", "/etc/passwd"),
        (symbolic, "nowhere", "nothing"),
    ]))
    .unwrap();
    for name in ["round", "about", "out", "root", "nowhere"] {
        assert!(matches!(package.document(name), Err(TransferError::Missing { .. })), "{name}");
    }
    for name in ["../x", "/etc/passwd", "a/../../x", "C:\\x", "a\\..\\x", ""] {
        assert!(matches!(package.document(name), Err(TransferError::Outside { .. })), "{name}");
    }
}

#[test]
fn a_directory_is_read_without_following_links() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("blobs")).unwrap();
    std::fs::write(dir.path().join("blobs/x"), "1").unwrap();
    let package = Package::open(dir.path(), dir.path()).unwrap();
    assert!(package.is_dir() && !package.has("blobs") && !package.has("blobs/x/y"));
    assert_eq!(text(&package, "blobs/x"), "1");
    assert!(matches!(package.document("../x"), Err(TransferError::Outside { .. })));
}

#[test]
fn an_error_shows_what_is_there() {
    let shown = |files: &[(&str, &str)]| opened(&tar_of(files)).unwrap().shown();
    assert_eq!(shown(&[]), "nothing is in it");
    assert_eq!(shown(&[("bin/sh", ""), ("etc/x", "")]), "it has bin/sh, etc/x");
    assert!(shown(&[("a", ""), ("b", ""), ("c", ""), ("d", ""), ("e", ""), ("f", "")]).ends_with("d, e, …"));
    assert!(shown(&[("image/index.json", "{}")]).contains("pack from inside that directory"));
}

#[test]
fn a_document_has_a_limit() {
    let long = "x".repeat(usize::try_from(LONGEST_DOCUMENT).unwrap() + 1);
    let package = opened(&tar_of(&[("index.json", &long)])).unwrap();
    assert!(package.document("index.json").unwrap_err().to_string().contains("more than"));
}
