use super::*;
use crate::blobs::{LONGEST_DOCUMENT, configuration};
use crate::document::{Configuration, Manifest};
use crate::platform::{Host, Isolation};
use crate::sample::{Sample, digest, tar_of};

/// The image for this platform, as the store looks for it.
fn choose(archive: &Archive, os: &str) -> Result<(Manifest, Configuration), ArchiveError> {
    let (host, isolation) = (Host::new(os, "amd64"), Isolation::HostProcess);
    let manifest = archive.find(&host, isolation)?.manifest;
    let bytes = archive.document(&manifest.config)?;
    Ok((manifest, configuration("config", &bytes, &host, isolation)?))
}

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
    let (manifest, configuration) = choose(&archive, "linux").unwrap();
    assert_eq!(configuration.platform.os, "linux");
    assert_eq!(manifest.layers[0].digest, digest(&tar_of(&[("a", "l")])));
    assert!(manifest.config.digest.starts_with("sha256:"));
    assert_eq!(choose(&archive, "windows").unwrap().1.platform.os, "windows");
}

#[test]
fn a_missing_platform_says_what_is_on_offer() {
    let (_dir, archive) = opened(Sample::default().image("windows", &[]));
    let error = choose(&archive, "linux").unwrap_err().to_string();
    assert_eq!(error, "no image for linux/amd64: it offers windows/amd64");
    // The configuration is asked too: an index without platforms promises nothing.
    let (_dir, archive) = opened(Sample::default().image("windows", &[]).nested());
    assert!(choose(&archive, "linux").unwrap_err().to_string().ends_with("offers windows/amd64"));
}

#[test]
fn an_index_may_point_to_an_index_but_not_for_ever() {
    let (_dir, archive) = opened(Sample::default().image("linux", &[]).nested().nested().nested());
    choose(&archive, "linux").unwrap();
    let (_dir, archive) = opened(Sample::default().image("linux", &[]).nested().nested().nested().nested());
    assert!(matches!(choose(&archive, "linux"), Err(ArchiveError::Content(ContentError::TooDeep))));
}

#[test]
fn damage_is_seen_wherever_it_is() {
    for text in ["Entrypoint", "\"layers\""] {
        let (_dir, archive) = opened(Sample::default().image("linux", &[("a", "body")]).damage(text));
        assert!(
            matches!(choose(&archive, "linux"), Err(ArchiveError::Content(ContentError::Damaged { .. }))),
            "{text}"
        );
    }
}

#[test]
fn a_blob_reads_as_it_was_from_any_place_and_by_several_at_once() {
    let (_dir, archive) = opened(Sample::default().image("linux", &[("a", "body")]));
    let (manifest, _) = choose(&archive, "linux").unwrap();
    let (layer, whole) = (&manifest.layers[0], tar_of(&[("a", "body")]));
    assert_eq!(archive.size(layer).unwrap(), whole.len() as u64);
    let mut streams: Vec<_> =
        [0, 1, 512, 1 << 40].map(|from| (from, archive.stream(layer, from).unwrap())).into();
    for (from, stream) in &mut streams {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, whole[whole.len().min(usize::try_from(*from).unwrap())..], "from {from}");
    }
}

#[test]
fn the_list_of_an_archive_is_not_the_image() {
    let (_dir, archive) = opened(Sample::default().image("linux", &[]));
    let found = archive.find(&Host::new("linux", "amd64"), Isolation::HostProcess).unwrap();
    assert_eq!((found.way.len(), found.target()), (1, found.digest()));
    let (_dir, archive) = opened(Sample::default().image("linux", &[]).nested());
    let found = archive.find(&Host::new("linux", "amd64"), Isolation::HostProcess).unwrap();
    assert_eq!(found.way.len(), 2);
    assert_ne!(found.target(), found.digest());
}

#[test]
fn what_is_no_oci_archive_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    assert!(matches!(Archive::open(&path), Err(ArchiveError::Tar(_))));
    std::fs::write(&path, tar_of(&[("manifest.json", "[]")])).unwrap();
    let error = choose(&Archive::open(&path).unwrap(), "linux").unwrap_err();
    assert!(error.to_string().contains("index.json is missing"), "{error}");
    std::fs::write(&path, tar_of(&[("./index.json", "[")])).unwrap();
    let error = choose(&Archive::open(&path).unwrap(), "linux").unwrap_err();
    assert!(matches!(error, ArchiveError::Content(ContentError::Json { .. })), "{error}");
}

#[test]
fn a_document_has_a_greatest_size() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tar");
    for (size, too_large) in [(LONGEST_DOCUMENT, false), (LONGEST_DOCUMENT + 1, true)] {
        let body = " ".repeat(usize::try_from(size).unwrap());
        std::fs::write(&path, tar_of(&[("index.json", &body)])).unwrap();
        let error = choose(&Archive::open(&path).unwrap(), "linux").unwrap_err();
        assert_eq!(
            matches!(error, ArchiveError::Content(ContentError::TooLarge { .. })),
            too_large,
            "{error}"
        );
    }
}
