//! Whoever interrupts the gate finds nothing of its tests on the host afterwards.

mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testbed::guard::Guard;
use testbed::process::wait_for;

use tree::Tree;

/// As patient as compiling a workspace of one file on a busy machine needs.
const LONG: Duration = Duration::from_secs(300);

/// A test that leaves a program in a session of its own, as a holder is, and does not end.
const LEAVES: &str = r#"
#[test]
fn leaves_a_program_behind() {
    let script = "echo $$ > left.half && mv left.half left && exec sleep 600";
    std::process::Command::new("setsid").args(["sh", "-c", script]).spawn().expect("setsid starts");
    std::fs::write("test.half", std::process::id().to_string()).expect("written");
    std::fs::rename("test.half", "test").expect("renamed");
    loop {
        std::thread::park();
    }
}
"#;

/// The process whose number is in a file of the test, once it is there.
fn process(tree: &Tree, name: &str) -> PathBuf {
    let file = tree.0.join("testbed").join(name);
    let read = || Ok(fs::read_to_string(&file).ok());
    let pid = wait_for(name, LONG, read).expect("the test runs");
    Path::new("/proc").join(pid.trim())
}

fn runs(process: &Path) -> bool {
    // Who merely waits to be buried has no command line any more.
    fs::read(process.join("cmdline")).is_ok_and(|line| !line.is_empty())
}

fn interrupted_by(signal: &str) {
    let guard = Guard::new("interrupt").expect("guard");
    let tree = Tree::new(guard.dir().join("tree"), LEAVES);
    let mut gate = tree.gate(&["--tier", "unit"]);
    let mut gate = guard.mark(&mut gate).spawn().expect("the gate starts");
    let (test, left) = (process(&tree, "test"), process(&tree, "left"));
    assert!(runs(&test) && runs(&left));

    let killed = Command::new("kill").args([signal, &gate.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let ended = gate.wait().expect("ours");
    assert!(!runs(&left), "what the test left behind");
    assert!(!runs(&test), "the test program");
    assert_eq!(ended.code(), Some(130));
}

#[test]
fn ctrl_c_ends_what_a_test_left_behind() {
    interrupted_by("-INT");
}

#[test]
fn being_told_to_end_ends_what_a_test_left_behind() {
    interrupted_by("-TERM");
}
