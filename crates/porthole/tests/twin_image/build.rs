//! build: how far it is, Ctrl-C, a kill, and what could not be kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Fault, Wrong};

use super::desk::{BLOBS, Desk, Ended, bytes_in};
use super::registry::noise;
use super::stage::eventually;

const LARGE: usize = 400_000;

/// A desk with a Dockerfile on a base that takes its time to come.
fn slow() -> Desk {
    let desk = Desk::new();
    let layer = Layer::new().file("noise", noise(LARGE), 0o644);
    let image = ImageBuilder::new("linux", "amd64").layer(layer).build().expect("made");
    let base = desk.push(&image, "try/base:1");
    std::fs::write(desk.path("Dockerfile"), format!("FROM {base}\nENV WORD=ours\n")).expect("written");
    desk.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 100_000 }).method("GET").path(BLOBS));
    desk
}

/// Where a build is made.
fn site(dir: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let mut sites = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("unfinished-"));
    sites.next().map(|entry| entry.path())
}

/// Waits until the base has begun to come.
fn begun(dir: &Path) -> PathBuf {
    eventually("a part of the base is here", || site(dir).filter(|site| bytes_in(site) > 50_000))
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn ctrl_c_ends_a_build_and_leaves_nothing_beside_the_archive() {
    let desk = slow();
    let before = names(desk.dir.path());
    let child = desk.start(&["build", "--os", "linux", "-o", "image.tar", "."]);
    begun(desk.dir.path());
    signal(&child, "-INT");
    let ended = Ended::wait(child);
    ended.refused(130, &["interrupted: nothing was built"]);
    assert_eq!((ended.stdout.as_str(), names(desk.dir.path())), ("", before));
}

#[test]
fn fsck_leaves_a_running_build_alone_and_ctrl_c_leaves_nothing_in_the_store() {
    let desk = slow();
    let store = desk.root().join("images");
    let child = desk.start(&["build", "--os", "linux", "-t", "ours:1", "."]);
    let site = begun(&store);
    assert_eq!(desk.json(&["fsck"])["findings"], serde_json::json!([]));
    assert_eq!(desk.json(&["fsck", "--repair"])["findings"], serde_json::json!([]));
    assert!(site.is_dir(), "a repair has removed what a build needs");
    signal(&child, "-INT");
    Ended::wait(child).refused(130, &["interrupted"]);
    assert!(!site.exists());
    assert_eq!((desk.names(), bytes_in(&store.join("blobs"))), (Vec::new(), 0));
}

#[test]
fn what_a_killed_build_left_the_next_one_removes() {
    let desk = slow();
    let mut child = desk.start(&["build", "--os", "linux", "-o", "image.tar", "."]);
    let left = begun(desk.dir.path());
    signal(&child, "-KILL");
    child.wait().expect("ended");
    assert!(left.is_dir());
    desk.registry.clear_faults();
    desk.ok(&["build", "--os", "linux", "-o", "image.tar", "."]);
    assert_eq!(site(desk.dir.path()), None);
    assert!(desk.path("image.tar").is_file());
}

#[test]
fn what_is_asked_for_wrongly_is_not_the_dockerfiles_fault() {
    let desk = Desk::new();
    std::fs::write(desk.path("Dockerfile"), "FROM scratch AS one\nENV A=1\n").expect("written");
    let wrong = |flags: &[&str], words: &str| {
        desk.run(&[&["build", "-o", "image.tar"], flags, &["."]].concat()).refused(2, &[words]);
    };
    wrong(&["--os-version", "ten"], "wanted 10.0.BUILD[.REVISION]");
    wrong(&["--os", "linux", "--os-version", "10.0.20348.1"], "--os-version is for windows");
    wrong(&["--target", "none"], "it has one");
    std::fs::write(desk.path("Dockerfile"), "FROM scratch\nRUN true\n").expect("written");
    desk.run(&["build", "-o", "image.tar", "."]).refused(1, &["RUN needs"]);
    assert!(!desk.path("image.tar").exists());
}

#[test]
fn where_a_build_is_made_is_no_part_of_what_it_is_made_from() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("context")).expect("made");
    std::fs::write(desk.path("context/Dockerfile"), "FROM scratch\nCOPY . /\n").expect("written");
    let digest =
        |archive: &str| desk.ok(&["build", "--json", "-o", archive, "context"]).json()["digest"].clone();
    assert_eq!(digest("image.tar"), digest("context/image.tar"));
}

#[test]
fn the_base_is_told_of_as_a_pull_is_and_quiet_is_quiet() {
    let desk = Desk::new();
    let base = desk.push(&Desk::image("base"), "try/base:1");
    std::fs::write(desk.path("Dockerfile"), format!("FROM {base}\nHEALTHCHECK NONE\n")).expect("written");
    let build = ["build", "--os", "linux", "-o", "image.tar"];
    let said = desk.ok(&[&build[..], &["."]].concat()).stderr;
    assert_eq!(said.lines().filter(|line| line.ends_with(" done")).count(), 2, "{said}");
    for words in [format!("porthole: pulling {base}"), format!("porthole: pulled {base}, ")] {
        assert!(said.contains(&words), "{words}: {said}");
    }
    assert!(
        said.lines().all(|line| line.starts_with("porthole: ")) && said.contains("warning: line 2"),
        "{said}"
    );
    assert_eq!(desk.ok(&[&build[..], &["-q", "."]].concat()).stderr, "");
}

/// A layer whose attributes no file system takes: there is no such list of rights.
fn odd(files: usize) -> Layer {
    let mut tar = tar::Builder::new(Vec::new());
    for n in 0..files {
        let record = [("SCHILY.xattr.system.posix_acl_access", b"odd".as_slice())];
        tar.append_pax_extensions(record).expect("written");
        let mut header = tar::Header::new_ustar();
        header.set_size(0);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("f{n}"), std::io::empty()).expect("written");
    }
    Layer::of_tar(tar.into_inner().expect("written"))
}

#[test]
fn what_could_not_be_kept_is_said_by_pull_load_and_build() {
    let desk = Desk::new();
    let image = ImageBuilder::new("linux", "amd64").layer(odd(5)).build().expect("made");
    image.write_oci_archive(desk.path("odd.tar")).expect("written");
    let name = desk.push(&image, "try/odd:1");
    std::fs::write(desk.path("Dockerfile"), "FROM oci-archive:odd.tar\nENV A=1\n").expect("written");
    let check = |ended: &Ended, all: &str| {
        let said: Vec<_> = ended.stderr.lines().filter(|line| line.contains("warning: ")).collect();
        assert_eq!(said.len(), 4, "{}", ended.stderr);
        assert!(said[0].starts_with("porthole: warning: f0: "), "{said:#?}");
        assert_eq!(said[3], format!("porthole: warning: 2 more: {all} lists them"));
    };
    let pulled = desk.ok(&["pull", &name, "-o", "json"]);
    check(&pulled, "-o json");
    let listed = pulled.json()["images"][0]["warnings"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(5), "{listed}");
    let loaded = desk.ok(&["load", "odd.tar", "-t", "other:1", "-o", "json"]);
    check(&loaded, "-o json");
    assert_eq!(loaded.json()["images"][0]["warnings"], listed);
    let built = desk.ok(&["build", "-t", "ours:1", "--json", "."]);
    check(&built, "--json");
    assert_eq!(built.json()["warnings"], listed);
    assert_eq!(desk.ok(&["pull", "-q", &name]).stderr, "");
}
