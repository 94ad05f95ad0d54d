//! Images that our makers write, read by skopeo.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testbed::image::{Image, ImageBuilder, Layer, agnhost, busybox, pause, windows_program};
use testbed::tools::{debian, progress};

fn skopeo(args: &[&str]) -> String {
    debian::ensure(&["skopeo"]).expect("skopeo");
    // Whether this machine has a policy file for signatures must not matter.
    progress::text_of(Command::new("skopeo").arg("--insecure-policy").args(args)).expect("skopeo succeeds")
}

fn inspect(source: &str, more: &[&str]) -> Value {
    serde_json::from_str(&skopeo(&[&["inspect"], more, &[source]].concat())).expect("JSON")
}

fn sample() -> ImageBuilder {
    let first =
        Layer::new().file("etc/word", "one", 0o644).file("old", "x", 0o644).symlink("bin/sh", "busybox");
    let second =
        Layer::new().file("etc/word", "two", 0o600).whiteout("old").hard_link("etc/same", "etc/word");
    ImageBuilder::new("linux", "amd64")
        .layer(first)
        .layer(second)
        .entrypoint(["/bin/sh", "-c"])
        .cmd(["echo hi"])
        .env("NAME", "value")
        .workdir("/etc")
        .user("1000:1000")
        .reference("example.test/sample:1")
}

#[test]
fn skopeo_reads_an_oci_archive() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("sample.tar");
    sample().write_oci_archive(&path).expect("written");
    let source = format!("oci-archive:{}", path.display());
    let said = inspect(&source, &[]);
    assert_eq!(said["Digest"], sample().build().expect("made").digest());
    assert_eq!((said["Os"].as_str(), said["Architecture"].as_str()), (Some("linux"), Some("amd64")));
    assert_eq!(said["Layers"].as_array().map(Vec::len), Some(2));
    assert_eq!(said["Env"], serde_json::json!(["NAME=value"]));
    let config = &inspect(&source, &["--config"])["config"];
    assert_eq!(config["Entrypoint"], serde_json::json!(["/bin/sh", "-c"]));
    assert_eq!(config["Cmd"], serde_json::json!(["echo hi"]));
    assert_eq!((config["WorkingDir"].as_str(), config["User"].as_str()), (Some("/etc"), Some("1000:1000")));
}

#[test]
fn skopeo_reads_an_oci_directory_and_a_docker_archive() {
    let dir = tempfile::tempdir().expect("a directory");
    sample().write_oci_dir(dir.path().join("layout")).expect("written");
    let said = inspect(&format!("oci:{}", dir.path().join("layout").display()), &[]);
    assert_eq!(said["Digest"], sample().build().expect("made").digest());
    let archive = dir.path().join("docker.tar");
    sample().write_docker_archive(&archive).expect("written");
    // A copy checks every layer against the configuration; reading only its names would not.
    let source = format!("docker-archive:{}:example.test/sample:1", archive.display());
    let copy = dir.path().join("copy");
    skopeo(&["copy", &source, &format!("dir:{}", copy.display())]);
    let config = inspect(&format!("dir:{}", copy.display()), &["--config"]);
    let digests = config["rootfs"]["diff_ids"].as_array().expect("a list").clone();
    assert_eq!(digests.len(), 2);
    assert_eq!(config["config"]["Cmd"], serde_json::json!(["echo hi"]));
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_directory() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let write = |dir: &Path| {
        let path = dir.join("image.tar");
        busybox().expect("made").write_oci_archive(&path).expect("written");
        std::fs::read(path).expect("read")
    };
    let first = write(one.path());
    assert!(first == write(two.path()), "two archives of the same files differ");
    let digest = |image: ImageBuilder| image.build().expect("made").digest().to_owned();
    assert_eq!(digest(sample()), digest(sample()));
    assert_ne!(digest(sample()), digest(sample().env("MORE", "1")));
}

/// Unpacks all layers of an image with tar and runs a program in there.
fn run_inside(image: &ImageBuilder, words: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let (layout, root) = (dir.path().join("layout"), dir.path().join("root"));
    image.write_oci_dir(&layout).expect("written");
    std::fs::create_dir(&root).expect("made");
    let layers = inspect(&format!("oci:{}", layout.display()), &[])["Layers"].clone();
    for layer in layers.as_array().expect("a list") {
        let blob = layout.join("blobs").join(layer.as_str().expect("a digest").replace(':', "/"));
        progress::run(Command::new("tar").arg("-xzf").arg(blob).arg("-C").arg(&root)).expect("unpacked");
    }
    progress::text_of(Command::new("chroot").arg(&root).args(words)).expect("runs")
}

#[test]
fn busybox_has_a_shell_that_runs() {
    let script = "echo hello | sed s/h/j/; stat -c %a /tmp";
    assert_eq!(run_inside(&busybox().expect("made"), &["/bin/sh", "-c", script]), "jello\n1777");
}

#[test]
fn agnhost_runs_and_has_a_shell() {
    let image = agnhost().expect("made");
    let help = run_inside(&image, &["/bin/sh", "-c", "/agnhost --help | cat"]);
    assert!(help.contains("netexec") && help.contains("pause"), "{help}");
}

#[test]
fn an_index_offers_an_image_for_each_windows_build() {
    let dir = tempfile::tempdir().expect("a directory");
    let exe = dir.path().join("program.exe");
    std::fs::write(&exe, "MZ").expect("written");
    let plain = windows_program(&exe).expect("made");
    let builds = ["10.0.20348.2031", "10.0.26100.1742"];
    let images = builds.map(|version| plain.clone().os_version(version).build().expect("made"));
    let path = dir.path().join("index.tar");
    Image::index(&images).write_oci_archive(&path).expect("written");
    let index: Value =
        serde_json::from_str(&skopeo(&["inspect", "--raw", &format!("oci-archive:{}", path.display())]))
            .expect("JSON");
    let versions: Vec<_> = index["manifests"].as_array().expect("a list").iter().collect();
    let versions: Vec<_> = versions.iter().map(|entry| entry["platform"]["os.version"].as_str()).collect();
    assert_eq!(versions, builds.map(Some));
    plain.write_oci_archive(&path).expect("written");
    let config = inspect(&format!("oci-archive:{}", path.display()), &["--config"]);
    assert_eq!((config["os"].as_str(), config.get("os.version")), (Some("windows"), None));
}

#[test]
fn a_pause_image_is_one_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE is set by the gate");
    let image = pause(&program).expect("made");
    let path = dir.path().join("pause.tar");
    image.write_oci_archive(&path).expect("written");
    let config = inspect(&format!("oci-archive:{}", path.display()), &["--config"]);
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/pause"]));
    assert_eq!(config["rootfs"]["diff_ids"].as_array().map(Vec::len), Some(1));
    // With nothing beside it, not even a loader: so it needs no library.
    assert_eq!(run_inside(&image, &["/pause", "list", "/"]), "pause");
}
