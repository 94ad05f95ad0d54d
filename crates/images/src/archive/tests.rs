use super::*;
use crate::sample::{Sample, digest, tar_of};

fn opened(sample: Sample) -> (tempfile::TempDir, Archive) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image.tar");
    sample.write(&path);
    let archive = Archive::open(&path).unwrap();
    (dir, archive)
}

#[test]
fn the_image_of_the_platform_is_chosen() {
    let sample = Sample::default().image("windows", &[("Files/a.exe", "w")]).image("linux", &[("a", "l")]);
    let (_dir, archive) = opened(sample);
    let chosen = archive.choose("linux", "amd64").unwrap();
    assert_eq!(chosen.configuration.platform.os, "linux");
    assert_eq!(chosen.layers[0].digest, digest(&tar_of(&[("a", "l")])));
    assert!(chosen.id.starts_with("sha256:"));
    assert_eq!(archive.choose("windows", "amd64").unwrap().configuration.platform.os, "windows");
}

#[test]
fn a_missing_platform_says_what_is_on_offer() {
    let (_dir, archive) = opened(Sample::default().image("windows", &[]));
    let error = archive.choose("linux", "amd64").unwrap_err().to_string();
    assert_eq!(error, "no image for linux/amd64: the archive offers windows/amd64");
    // The configuration is asked too: an index without platforms promises nothing.
    let (_dir, archive) = opened(Sample::default().image("windows", &[]).nested());
    assert!(archive.choose("linux", "amd64").unwrap_err().to_string().ends_with("offers windows/amd64"));
}

#[test]
fn an_index_may_point_to_an_index_but_not_for_ever() {
    let (_dir, archive) = opened(Sample::default().image("linux", &[]).nested().nested().nested());
    archive.choose("linux", "amd64").unwrap();
    let (_dir, archive) = opened(Sample::default().image("linux", &[]).nested().nested().nested().nested());
    assert!(matches!(archive.choose("linux", "amd64"), Err(ArchiveError::TooDeep)));
}

#[test]
fn damage_is_seen_wherever_it_is() {
    for text in ["Entrypoint", "\"layers\""] {
        let (_dir, archive) = opened(Sample::default().image("linux", &[("a", "body")]).damage(text));
        assert!(matches!(archive.choose("linux", "amd64"), Err(ArchiveError::Damaged { .. })), "{text}");
    }
    let (_dir, archive) = opened(Sample::default().image("linux", &[("a", "body")]).damage("body"));
    let chosen = archive.choose("linux", "amd64").unwrap();
    let blob = archive.blob(&chosen.layers[0].digest).unwrap();
    assert!(matches!(blob.finish(), Err(ArchiveError::Damaged { .. })));
}

#[test]
fn a_whole_blob_reads_as_it_was() {
    let (_dir, archive) = opened(Sample::default().image("linux", &[("a", "body")]));
    let chosen = archive.choose("linux", "amd64").unwrap();
    let mut blob = archive.blob(&chosen.layers[0].digest).unwrap();
    let mut bytes = Vec::new();
    blob.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, tar_of(&[("a", "body")]));
    blob.finish().unwrap();
}

#[test]
fn what_is_no_oci_archive_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Tar(_))));
    std::fs::write(&path, tar_of(&[("manifest.json", "[]")])).unwrap();
    let error = Archive::open(&path).unwrap().choose("linux", "amd64").unwrap_err();
    assert!(error.to_string().contains("index.json is missing"), "{error}");
    std::fs::write(&path, tar_of(&[("./index.json", "[")])).unwrap();
    let error = Archive::open(&path).unwrap().choose("linux", "amd64").unwrap_err();
    assert!(matches!(error, ArchiveError::Json { .. }), "{error}");
}

#[test]
fn a_document_has_a_greatest_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    for (size, too_large) in [(LONGEST_DOCUMENT, false), (LONGEST_DOCUMENT + 1, true)] {
        let body = " ".repeat(usize::try_from(size).unwrap());
        std::fs::write(&path, tar_of(&[("index.json", &body)])).unwrap();
        let error = Archive::open(&path).unwrap().choose("linux", "amd64").unwrap_err();
        assert_eq!(matches!(error, ArchiveError::TooLarge { .. }), too_large, "{error}");
    }
}

#[test]
fn digests_are_checked_before_they_become_names() {
    for bad in
        ["", "sha256:", "md5:00", "sha256:../../../../etc/passwd", &format!("sha256:{}", "A".repeat(64))]
    {
        assert!(matches!(blob_name(bad), Err(ArchiveError::Digest(_))), "{bad}");
    }
    let good = format!("sha256:{}", "0f".repeat(32));
    assert_eq!(blob_name(&good).unwrap(), format!("blobs/sha256/{}", "0f".repeat(32)));
}
