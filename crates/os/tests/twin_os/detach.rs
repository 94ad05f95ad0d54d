//! What outlives its starter.

use std::process::Command;

use os::process::{is_running, send_interrupt};

use crate::support::{eventually, fixture};

/// The starter has ended when this returns.
fn detached(verb: &str) -> (u32, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let output = Command::new(fixture()).arg("detach").arg(&log).arg(fixture()).arg(verb).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let rest = said.strip_prefix("pid ").unwrap_or_else(|| panic!("{said:?} {:?}", output.stderr));
    let (pid, ready) = rest.trim_end().split_once(' ').unwrap();
    assert_eq!(ready, "ready");
    (pid.parse().unwrap(), dir)
}

#[test]
fn a_detached_program_survives_its_starter_and_hears_an_interrupt() {
    let (pid, _dir) = detached("pause");
    assert!(is_running(pid));
    send_interrupt(pid).unwrap();
    eventually("the interrupt ended it", || !is_running(pid));
}

#[cfg(target_os = "linux")]
#[test]
fn a_detached_program_keeps_nothing_of_ours() {
    let (pid, dir) = detached("pause");
    let proc = std::path::PathBuf::from(format!("/proc/{pid}"));
    assert_eq!(std::fs::read_link(proc.join("cwd")).unwrap(), std::path::Path::new("/"));
    assert_eq!(std::fs::read_link(proc.join("fd/0")).unwrap(), std::path::Path::new("/dev/null"));
    assert_eq!(std::fs::read_link(proc.join("fd/2")).unwrap(), dir.path().join("log"));
    let session =
        |stat: String| stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned();
    let of = |path: &std::path::Path| session(std::fs::read_to_string(path.join("stat")).unwrap());
    assert_ne!(of(&proc), of(std::path::Path::new("/proc/self")));
    send_interrupt(pid).unwrap();
    eventually("the interrupt ended it", || !is_running(pid));
}

#[test]
fn a_program_that_is_not_there_is_reported_to_the_starter() {
    let error =
        os::process::detach(&std::env::temp_dir().join("no-such-holder"), &[], tempfile::tempfile().unwrap())
            .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
