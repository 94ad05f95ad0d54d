//! Whoever forbids installing learns what is missing, and nothing is made.

mod tree;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use tree::Tree;

/// A tier and the first of the Go programs that it needs; the packages that it needs besides are this tier's too.
const NEEDS: [(&str, &str); 2] = [("twin", "registry"), ("cluster", "etcd")];

#[test]
fn a_missing_go_tool_is_named_and_not_built() {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = Tree::new(dir.path().join("tree"), "");
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).expect("made");
    for (tier, tool) in NEEDS {
        let mut gate = tree.gate(&["--tier", tier, "--no-install"]);
        // This gate's own user may have forbidden it too: here the flag alone shall do it.
        let gate = gate.env("PORTHOLE_CACHE", &cache).env_remove("PORTHOLE_NO_INSTALL");
        let ended = gate.output().expect("the gate starts");
        let said = String::from_utf8_lossy(&ended.stdout);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        let named = format!("the {tier} tier needs {tool}: missing: build {tool} ");
        assert!(said.contains(&named), "{said}");
        assert!(said.ends_with("\n0 passed, 1 failed, 0 skipped\n"), "{said}");
        let made: Vec<_> = fs::read_dir(&cache).expect("readable").flatten().collect();
        assert!(made.is_empty(), "{made:?}");
    }
}

/// Programs that are built already run without the compiler that built them.
#[test]
fn go_is_looked_for_only_where_something_is_to_be_built() {
    let dir = tempfile::tempdir().expect("a directory");
    let tree = Tree::new(dir.path().join("tree"), "");
    let (cache, programs) = (dir.path().join("cache"), dir.path().join("bin"));
    fs::create_dir_all(&programs).expect("made");
    everything_but("go", &programs);
    let said = || {
        let mut gate = tree.gate(&["--tier", "twin", "--no-install"]);
        gate.env("PORTHOLE_CACHE", &cache).env("PATH", &programs);
        let ended = gate.output().expect("the gate starts");
        [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
    };
    let told = said();
    assert!(told.contains("look for go"), "{told}");
    let registry = testbed::tools::go::GO_TOOLS.iter().find(|tool| tool.name == "registry").expect("known");
    let built = cache.join(format!("go/{}-{}-{}", registry.name, registry.version, registry.goos));
    fs::create_dir_all(built).expect("made");
    let told = said();
    assert!(!told.contains("look for go"), "{told}");
}

/// Links to all programs that are found by their name, without one.
fn everything_but(name: &str, dir: &Path) {
    let path = std::env::var_os("PATH").expect("a path");
    let entries = std::env::split_paths(&path).filter_map(|dir| fs::read_dir(dir).ok());
    for entry in entries.flatten().flatten().filter(|entry| entry.file_name() != name) {
        match symlink(entry.path(), dir.join(entry.file_name())) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("{error}"),
            _ => {}
        }
    }
}
