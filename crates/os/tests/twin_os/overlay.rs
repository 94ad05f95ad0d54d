//! A container's own view of its image: writes stay in the upper directory and out of the host's sight.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::keeper::{Keeper, as_nobody, as_root, fixture_for_all};
use crate::support::unique;

struct Image {
    dir: tempfile::TempDir,
}

impl Image {
    fn new() -> Self {
        let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o777)).tempdir().unwrap();
        // Root may use what nobody owns, not the other way round.
        let owned = |path: &Path| chown(path, Some(65534), Some(65534)).unwrap();
        for name in ["lower", "upper", "work", "target"] {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            owned(&path);
        }
        let given = dir.path().join("lower/given");
        std::fs::write(&given, "from the image").unwrap();
        owned(&given);
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn options(&self) -> Vec<String> {
        ["lower", "upper", "work", "target"]
            .iter()
            .map(|name| format!("{name}={}", self.path(name).display()))
            .collect()
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

fn is_empty(path: &Path) -> bool {
    std::fs::read_dir(path).unwrap().next().is_none()
}

fn the_image_is_seen_and_not_changed(command: Command, again: Command) {
    let image = Image::new();
    let file = image.text("target/given");
    let mut keeper = Keeper::start(command, &unique(), &image.options(), &["write", &file, "changed"]);
    assert_eq!(keeper.expect("ended"), "0 None");
    assert_eq!(std::fs::read_to_string(image.path("lower/given")).unwrap(), "from the image");
    assert_eq!(std::fs::read_to_string(image.path("upper/given")).unwrap(), "changed");
    assert!(is_empty(&image.path("target")), "the mount reached the host");
    let mut keeper = Keeper::start(again, &unique(), &image.options(), &["read", &file]);
    assert_eq!(keeper.expect("out"), "changed");
}

#[test]
fn writes_do_not_reach_the_image() {
    the_image_is_seen_and_not_changed(as_root(), as_root());
}

#[test]
fn without_root_writes_do_not_reach_the_image() {
    the_image_is_seen_and_not_changed(as_nobody(), as_nobody());
}

fn a_hundred_layers_are_one_image(command: fn() -> Command) {
    let image = Image::new();
    let mut options = image.options();
    options.remove(0);
    // Longer together than the one page that mount(2) takes.
    for number in 0..100 {
        let layer = image.path(&format!("{number}-{}", "long".repeat(20)));
        std::fs::create_dir(&layer).unwrap();
        std::fs::write(layer.join(number.to_string()), "own").unwrap();
        std::fs::write(layer.join("given"), number.to_string()).unwrap();
        options.push(format!("lower={}", layer.display()));
    }
    let (first, last) = (image.text("target/0"), image.text("target/99"));
    for (file, expected) in [(image.text("target/given"), "0"), (first, "own"), (last, "own")] {
        let mut keeper = Keeper::start(command(), &unique(), &options, &["read", &file]);
        assert_eq!(keeper.expect("out"), expected, "{file}");
    }
}

#[test]
fn more_layers_than_a_page_names_are_one_image() {
    a_hundred_layers_are_one_image(as_root);
}

#[test]
fn without_root_more_layers_than_a_page_names_are_one_image() {
    a_hundred_layers_are_one_image(as_nobody);
}

fn a_second_process_shares_the_first_ones_view(command: Command) {
    let image = Image::new();
    let mut keeper = Keeper::start(command, &unique(), &image.options(), &["pause"]);
    let first = keeper.expect("held");
    keeper.expect("out ready");
    keeper.tell("again");
    let second = keeper.expect("again");
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
    assert_eq!(namespace(&first), namespace(&second));
    assert_ne!(namespace(&first), namespace("self"));
}

#[test]
fn an_execd_process_sees_what_init_sees() {
    a_second_process_shares_the_first_ones_view(as_root());
}

#[test]
fn without_root_an_execd_process_sees_what_init_sees() {
    a_second_process_shares_the_first_ones_view(as_nobody());
}

/// Most hosts share mounts between namespaces by default; this one may not, so the keeper gets a world that does.
#[test]
fn a_mount_stays_private_on_a_host_that_shares_mounts() {
    let image = Image::new();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "shared", "--"]).arg(fixture_for_all());
    let mut keeper = Keeper::start(command, &unique(), &image.options(), &["pause"]);
    let first = keeper.expect("held");
    keeper.expect("out ready");
    let target = image.text("target");
    let sees =
        |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap().contains(&target);
    assert!(sees(&first), "the program does not see its image");
    assert!(!sees(&keeper.id().to_string()), "the mount reached the keeper");
}
