//! Whoever forbids installing learns what is missing, and nothing is made.

mod tree;

use std::fs;

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
