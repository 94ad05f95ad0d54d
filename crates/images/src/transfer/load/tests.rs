use serde_json::json;

use super::super::desk::{Desk, configuration, gzip, linux, names};
use super::super::save::Platforms;
use super::*;
use crate::sample::tar_of;

/// A Docker archive's parts: the layer, the configuration and their names.
fn docker(
    layer: &[u8],
    diff_of: &[u8],
    layer_name: &str,
    tags: serde_json::Value,
) -> (String, Vec<u8>, Vec<u8>) {
    let config = configuration("linux", &Digest::of(diff_of)).into_bytes();
    let list = json!([{"Config": "config.json", "RepoTags": tags, "Layers": [layer_name]}]);
    assert!(!layer.is_empty());
    (layer_name.to_owned(), config, list.to_string().into_bytes())
}

#[test]
fn the_older_form_of_docker_save() {
    let desk = Desk::new();
    let tar = tar_of(&[("word", "one")]);
    let (name, config, list) = docker(&tar, &tar, "0123abcd/layer.tar", json!(["app:1", "app:latest"]));
    let imported = desk
        .load_tar(&[
            ("0123abcd/VERSION", b"1.0"),
            ("0123abcd/json", b"{}"),
            (&name, &tar),
            ("config.json", &config),
            ("manifest.json", &list),
            ("repositories", b"{}"),
        ])
        .unwrap();
    assert_eq!(imported.format, Format::DockerArchive);
    assert_eq!(names(&imported), [["docker.io/library/app:1", "docker.io/library/app:latest"]]);
    assert_eq!(desk.content.blob_size(&Digest::of(&tar)), Some(tar.len() as u64));
    assert!(desk.content.blob_size(&Digest::of(&config)).is_some());
    // The manifest that is made is the same each time.
    let again = Desk::new();
    let other = again.load_tar(&[(&name, &tar), ("config.json", &config), ("manifest.json", &list)]).unwrap();
    assert_eq!(imported.images[0].root.digest, other.images[0].root.digest);
}

#[test]
fn a_docker_archive_with_packed_layers_and_without_names() {
    let desk = Desk::new();
    let tar = tar_of(&[("word", "one")]);
    let packed = gzip(&tar);
    let (name, config, list) = docker(&packed, &tar, "blobs/sha256/x", json!(null));
    let members: [(&str, &[u8]); 3] = [(&name, &packed), ("config.json", &config), ("manifest.json", &list)];
    let imported = desk.load_tar(&members).unwrap();
    assert_eq!(names(&imported), [Vec::<String>::new()]);
    assert!(desk.content.blob_size(&Digest::of(&packed)).is_some());
}

#[test]
fn the_newer_form_of_docker_save_is_an_oci_layout_too() {
    let (from, into) = (Desk::new(), Desk::new());
    let image = from.image("linux", "one");
    from.save(&[("app:1", &image.manifest)], &linux(), Format::OciDir, "x").unwrap();
    let list = json!([{"Config": blob_name(&image.config), "RepoTags": ["app:1"], "Layers": [blob_name(&image.layer)]}]);
    std::fs::write(from.path("x/manifest.json"), list.to_string()).unwrap();
    let imported = into.load(&from.path("x")).unwrap();
    assert_eq!(imported.format, Format::OciDir);
    assert_eq!(imported.images[0].root.digest, image.manifest.as_str());
}

#[test]
fn a_damaged_layer_is_refused_and_is_not_in_the_store() {
    let desk = Desk::new();
    let (tar, other) = (tar_of(&[("word", "one")]), tar_of(&[("word", "two")]));
    let (name, config, list) = docker(&other, &tar, "l/layer.tar", json!(["app:1"]));
    let error =
        desk.load_tar(&[(&name, &other), ("config.json", &config), ("manifest.json", &list)]).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
    assert_eq!(desk.content.blob_size(&Digest::of(&tar)), None);
    assert_eq!(desk.content.blob_size(&Digest::of(&other)), None);
}

#[test]
fn what_an_index_lists_and_the_archive_has_not_is_passed_over() {
    let (from, into) = (Desk::new(), Desk::new());
    let (image, other) = (from.image("linux", "one"), from.image("windows", "two"));
    let index = from.index(&[("windows", &other.manifest), ("linux", &image.manifest)]);
    from.save(&[("app:1", &index)], &Platforms::All, Format::OciDir, "x").unwrap();
    // As Docker saves what it pulled for one platform: the manifest of the other may be there, its layers are not.
    std::fs::remove_file(from.path("x").join(blob_name(&other.layer))).unwrap();
    let imported = into.load(&from.path("x")).unwrap();
    assert_eq!(imported.images[0].root.digest, index.as_str());
    assert!(
        into.content.blob_size(&image.layer).is_some() && into.content.blob_size(&other.manifest).is_none()
    );
    std::fs::remove_file(from.path("x").join(blob_name(&image.layer))).unwrap();
    let error = Desk::new().load(&from.path("x")).unwrap_err();
    assert!(
        matches!(&error, TransferError::Missing { name, .. } if *name == blob_name(&other.layer)),
        "{error}"
    );
    // Where the store has the layer already, the archive need not.
    into.load(&from.path("x")).unwrap();
}

#[test]
fn hostile_lists_lead_nowhere() {
    let desk = Desk::new();
    let bad = |members: &[(&str, &[u8])]| desk.load_tar(members).unwrap_err().to_string();
    let list = json!([{"Config": "../../../etc/passwd", "Layers": []}]).to_string();
    assert!(bad(&[("manifest.json", list.as_bytes())]).contains("leads out of it"));
    let list = json!([{"Config": "/etc/passwd", "Layers": []}]).to_string();
    assert!(bad(&[("manifest.json", list.as_bytes())]).contains("leads out of it"));
    let entry = json!({"manifests": [{"digest": "sha256:../../etc/passwd", "size": 1}], "schemaVersion": 2});
    assert!(bad(&[("index.json", entry.to_string().as_bytes())]).contains("is not a sha256 digest"));
    let version = br#"{"imageLayoutVersion":"2.0.0"}"#;
    assert!(
        bad(&[("index.json", br#"{"schemaVersion":2,"manifests":[]}"#), ("oci-layout", version)])
            .contains("\"2.0.0\"")
    );
    assert!(bad(&[("index.json", br#"{"schemaVersion":2,"manifests":[]}"#)]).contains("no image in it"));
    assert!(bad(&[("index.json", b"{")]).contains("not the JSON"));
    assert!(bad(&[("bin/sh", b"#!")]).contains("it has bin/sh"));
}

#[test]
fn an_index_that_leads_to_itself_ends() {
    // A digest cannot be its own; but deep ones can be made, and sizes may lie.
    let (from, into) = (Desk::new(), Desk::new());
    let mut inner = from.image("linux", "one").manifest;
    for _ in 0..8 {
        inner = from.index(&[("linux", &inner)]);
    }
    let mut members = Vec::new();
    for entry in std::fs::read_dir(from.path("images/blobs/sha256")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("blobs/sha256/{}", path.file_name().unwrap().to_str().unwrap());
        members.push((name, std::fs::read(path).unwrap()));
    }
    let top = json!({"schemaVersion": 2, "manifests": [{"digest": inner.as_str(), "size": 7}]}).to_string();
    members.push(("index.json".into(), top.into_bytes()));
    let members: Vec<_> = members.iter().map(|(name, body)| (name.as_str(), body.as_slice())).collect();
    let error = into.load_tar(&members).unwrap_err().to_string();
    assert!(error.contains("deep"), "{error}");
}

#[test]
fn an_index_that_lists_another_many_times_over_ends() {
    let (from, into) = (Desk::new(), Desk::new());
    let mut inner = from.image("linux", "one").manifest;
    for _ in 0..3 {
        inner = from.index(&[("linux", &inner); 50]);
    }
    from.save(&[("a:1", &inner)], &Platforms::All, Format::OciDir, "x").unwrap();
    let error = into.load(&from.path("x")).unwrap_err().to_string();
    assert!(error.contains("more than 10000"), "{error}");
}

/// What a power cut had left of an earlier load made a good archive fail, once.
#[test]
fn a_damaged_rest_of_an_earlier_load_does_not_make_a_good_archive_fail() {
    for format in [Format::OciArchive, Format::DockerArchive] {
        let (from, into) = (Desk::new(), Desk::new());
        let image = from.image("linux", "one");
        from.save(&[("app:1", &image.manifest)], &linux(), format, "x").unwrap();
        let layer = if format == Format::DockerArchive { &image.diff_id } else { &image.layer };
        std::fs::write(into.content.ingest_path(layer), [0; 20]).unwrap();
        into.load(&from.path("x")).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        assert!(into.content.blob_size(layer).is_some());
    }
}

#[test]
fn a_blob_that_is_damaged_in_the_archive_is_not_tried_for_ever() {
    let (from, into) = (Desk::new(), Desk::new());
    let image = from.image("linux", "one");
    from.save(&[("app:1", &image.manifest)], &linux(), Format::OciDir, "x").unwrap();
    let path = from.path("x").join(blob_name(&image.layer));
    let mut bytes = std::fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(into.content.ingest_path(&image.layer), [0; 20]).unwrap();
    let error = into.load(&from.path("x")).unwrap_err();
    assert!(error.to_string().contains(image.layer.as_str()), "{error}");
}
