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
const SHORT: Duration = Duration::from_secs(10);

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

/// A package that takes for ever to build.
const NEVER_BUILT: &str = r#"
fn main() {
    std::fs::write("builds.half", std::process::id().to_string()).expect("written");
    std::fs::rename("builds.half", "builds").expect("renamed");
    loop {
        std::thread::park();
    }
}
"#;

/// Ends the gate while these run.
fn interrupted_by<const N: usize>(
    signal: &str,
    tree: &Tree,
    guard: &Guard,
    names: [&str; N],
) -> [PathBuf; N] {
    let mut gate = tree.gate(&["--tier", "unit"]);
    let mut gate = guard.mark(&mut gate).spawn().expect("the gate starts");
    let running = names.map(|name| process(tree, name));
    assert!(running.iter().all(|process| runs(process)));

    let killed = Command::new("kill").args([signal, &gate.id().to_string()]).status();
    assert!(killed.expect("kill starts").success());
    let ended = gate.wait().expect("ours");
    assert_eq!(ended.code(), Some(130));
    running
}

fn testing_is_interrupted_by(signal: &str) {
    let guard = Guard::new("interrupt").expect("guard");
    let tree = Tree::new(guard.dir().join("tree"), LEAVES);
    let [test, left] = interrupted_by(signal, &tree, &guard, ["test", "left"]);
    assert!(!runs(&left), "what the test left behind");
    assert!(!runs(&test), "the test program");
}

#[test]
fn ctrl_c_ends_what_a_test_left_behind() {
    testing_is_interrupted_by("-INT");
}

#[test]
fn being_told_to_end_ends_what_a_test_left_behind() {
    testing_is_interrupted_by("-TERM");
}

#[test]
fn being_told_to_end_ends_what_compiles() {
    let guard = Guard::new("interrupt").expect("guard");
    let tree = Tree::new(guard.dir().join("tree"), "");
    fs::write(tree.0.join("testbed/build.rs"), NEVER_BUILT).expect("written");
    let [builds] = interrupted_by("-TERM", &tree, &guard, ["builds"]);
    // Whoever is killed has a command line until the kernel has taken away its memory.
    let gone = || Ok((!runs(&builds)).then_some(()));
    wait_for("the end of what compiles", SHORT, gone).expect("it works on for nobody");
}
