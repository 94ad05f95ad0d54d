use std::cell::Cell;

use super::super::desk::{Desk, Made, chosen, linux, names};
use super::*;

#[test]
fn what_is_saved_in_each_format_is_loaded_again() {
    for format in [Format::OciArchive, Format::OciDir, Format::DockerArchive] {
        let (from, into) = (Desk::new(), Desk::new());
        let (one, two) = (from.image("linux", "one"), from.image("linux", "two"));
        let images = [("example.com/a:1", &one.manifest), ("example.com/b:2", &two.manifest)];
        let saved = from.save(&images, &linux(), format, "x").unwrap();
        assert_eq!(saved.images[0].name.as_deref(), Some("example.com/a:1"));
        let imported = into.load(&from.path("x")).unwrap();
        assert_eq!(imported.format, format);
        assert_eq!(names(&imported), [["example.com/a:1"], ["example.com/b:2"]]);
        for (image, found) in [&one, &two].into_iter().zip(&imported.images) {
            assert!(into.content.blob_size(&image.config).is_some(), "the id is the same");
            let root = Digest::parse(&found.root.digest).unwrap();
            assert!(into.content.blob_size(&root).is_some());
            if format == Format::DockerArchive {
                // Layers are plain there: the diff id is the digest.
                assert!(into.content.blob_size(&image.diff_id).is_some());
            } else {
                assert_eq!(root, image.manifest);
                assert!(into.content.blob_size(&image.layer).is_some());
            }
        }
    }
}

/// The archive was written all the same, and only who loaded it elsewhere heard of it.
#[test]
fn a_blob_that_rotted_is_named_and_no_file_is_left() {
    for format in [Format::OciArchive, Format::OciDir, Format::DockerArchive] {
        let parts: [fn(&Made) -> &Digest; 3] = [|it| &it.layer, |it| &it.config, |it| &it.manifest];
        for part in parts {
            let desk = Desk::new();
            let image = desk.image("linux", "one");
            let (digest, path) = (part(&image), desk.content.blob_path(part(&image)));
            let mut bytes = std::fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(&path, bytes).unwrap();
            let images = [("example.com/a:1", &image.manifest)];
            let error = desk.save(&images, &linux(), format, "x").unwrap_err();
            let text = format!("{error} {:?}", std::error::Error::source(&error));
            assert!(text.contains(digest.hex()), "{format:?}: {text}");
            let left = desk.files();
            match format {
                Format::OciDir => assert!(!desk.path("x/index.json").exists(), "it lists nothing"),
                _ => assert_eq!(left, ["images"], "{format:?}"),
            }
            let rotten = format!("blobs/sha256/{}", digest.hex());
            assert!(!desk.path("x").join(rotten).exists());
        }
    }
}

#[test]
fn the_same_images_give_the_same_bytes() {
    for format in [Format::OciArchive, Format::DockerArchive] {
        let desk = Desk::new();
        let image = desk.image("linux", "one");
        let read = |name: &str| {
            desk.save(&[("example.com/a:1", &image.manifest)], &linux(), format, name).unwrap();
            std::fs::read(desk.path(name)).unwrap()
        };
        assert_eq!(read("x"), read("y"));
    }
}

#[test]
fn one_platform_is_a_manifest_and_all_are_an_index() {
    let desk = Desk::new();
    let (linux_image, windows) = (desk.image("linux", "one"), desk.image("windows", "two"));
    let index = desk.index(&[("linux", &linux_image.manifest), ("windows", &windows.manifest)]);
    let digest = |platforms: &Platforms| {
        let saved = desk.save(&[("a:1", &index)], platforms, Format::OciArchive, "x").unwrap();
        saved.images[0].digest.clone()
    };
    assert_eq!(digest(&linux()), linux_image.manifest.as_str());
    assert_eq!(digest(&Platforms::Of(Host::new("windows", "amd64"))), windows.manifest.as_str());
    assert_eq!(digest(&Platforms::All), index.as_str());
    let into = Desk::new();
    into.load(&desk.path("x")).unwrap();
    assert!(
        into.content.blob_size(&windows.layer).is_some()
            && into.content.blob_size(&linux_image.layer).is_some()
    );
    let error = desk.save(&[("a:1", &index)], &Platforms::All, Format::DockerArchive, "y").unwrap_err();
    assert!(error.to_string().contains("one platform"), "{error}");
    let plan9 = Platforms::Of(Host::new("plan9", "amd64"));
    let error = desk.save(&[("a:1", &index)], &plan9, Format::OciArchive, "y").unwrap_err();
    assert!(
        matches!(error, TransferError::Platform { source, .. } if source.offers.contains("windows/amd64"))
    );
    assert!(!desk.path("y").exists());
}

#[test]
fn an_image_of_one_platform_is_not_saved_as_another() {
    let desk = Desk::new();
    let image = desk.image("linux", "one");
    let other = Platforms::Of(Host::new("linux", "arm64"));
    let error = desk.save(&[("a:1", &image.manifest)], &other, Format::OciArchive, "x").unwrap_err();
    assert!(matches!(error, TransferError::Platform { source, .. } if source.offers.contains("linux/amd64")));
    assert!(!desk.path("x").exists());
    desk.save(&[("a:1", &image.manifest)], &linux(), Format::OciArchive, "x").unwrap();
}

#[test]
fn what_was_not_pulled_is_named_before_anything_is_written() {
    let desk = Desk::new();
    let image = desk.image("linux", "one");
    let absent = Digest::of(b"absent");
    let index = desk.index(&[("windows", &absent), ("linux", &image.manifest)]);
    desk.save(&[("a:1", &index)], &linux(), Format::OciArchive, "x").unwrap();
    let error =
        desk.save(&[("a:1", &index)], &Platforms::All, Format::OciArchive, "y").unwrap_err().to_string();
    assert!(error.contains(absent.as_str()) && error.ends_with("with --all-platforms"), "{error}");
    assert!(!desk.path("y").exists() && !desk.path("y.unfinished").exists());
    let error = desk.save(&[("", &absent)], &linux(), Format::OciArchive, "y").unwrap_err().to_string();
    assert!(error.ends_with("pull it again"), "{error}");
}

#[test]
fn a_layout_gets_more_images_and_a_name_moves() {
    let (desk, into) = (Desk::new(), Desk::new());
    let (one, two) = (desk.image("linux", "one"), desk.image("linux", "two"));
    for (name, image) in [("a:1", &one), ("b:1", &one), ("a:1", &two)] {
        desk.save(&[(name, &image.manifest)], &linux(), Format::OciDir, "x").unwrap();
    }
    let imported = into.load(&desk.path("x")).unwrap();
    assert_eq!(names(&imported), [["docker.io/library/b:1"], ["docker.io/library/a:1"]]);
    assert_eq!(imported.images[1].root.digest, two.manifest.as_str());
    std::fs::create_dir(desk.path("mine")).unwrap();
    std::fs::write(desk.path("mine/letter"), "dear").unwrap();
    let error = desk.save(&[("a:1", &one.manifest)], &linux(), Format::OciDir, "mine").unwrap_err();
    assert!(matches!(error, TransferError::Occupied { .. }), "{error}");
}

#[test]
fn one_image_of_two_names_is_in_a_docker_archive_once() {
    let (desk, into) = (Desk::new(), Desk::new());
    let image = desk.image("linux", "one");
    let two = [("a:1", &image.manifest), ("b:1", &image.manifest), ("", &image.manifest)];
    desk.save(&two, &linux(), Format::DockerArchive, "x").unwrap();
    let imported = into.load(&desk.path("x")).unwrap();
    assert_eq!(names(&imported), [["docker.io/library/a:1", "docker.io/library/b:1"]]);
}

#[test]
fn an_interrupt_leaves_no_file() {
    let desk = Desk::new();
    let image = desk.image("linux", "one");
    for format in [Format::OciArchive, Format::DockerArchive] {
        let path = desk.path("x");
        let caller = Caller { tell: &|_| {}, gave_up: &|| true };
        let images = [chosen("a:1", &image.manifest)];
        let error = save(&desk.content, &images, &linux(), format, Target::File(&path), caller).unwrap_err();
        assert!(matches!(error, TransferError::GaveUp), "{error:?}");
        assert!(!path.exists() && !desk.path("x.unfinished").exists());
    }
}

/// A pipe that the reader closes after some bytes.
struct Closed(Cell<usize>);

impl io::Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.get().checked_sub(bytes.len()) {
            Some(left) => {
                self.0.set(left);
                Ok(bytes.len())
            }
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_gets_the_same_bytes_and_a_closed_one_is_an_error() {
    let desk = Desk::new();
    let image = desk.image("linux", "one");
    let images = [chosen("a:1", &image.manifest)];
    let mut bytes = Vec::new();
    let to = Target::Stream(&mut bytes);
    save(&desk.content, &images, &linux(), Format::OciArchive, to, Caller::silent()).unwrap();
    desk.save(&[("a:1", &image.manifest)], &linux(), Format::OciArchive, "x").unwrap();
    assert_eq!(bytes, std::fs::read(desk.path("x")).unwrap());
    let mut closed = Closed(Cell::new(700));
    let to = Target::Stream(&mut closed);
    let error = save(&desk.content, &images, &linux(), Format::OciArchive, to, Caller::silent()).unwrap_err();
    assert!(
        matches!(&error, TransferError::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe),
        "{error:?}"
    );
}
