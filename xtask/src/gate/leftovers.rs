//! A test program that has ended takes nothing more of the machine.
//!
//! What it started has its mark, a variable with a path that no other program has. A process with that mark that is
//! still there is ended, and the program has failed: whatever was left running would slow down all that comes after.
//! One that was given variables of its own, as containers are, is not found by it.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// What was killed at a test's end may take a moment to go.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(20);

/// The names of the processes that had to be ended.
///
/// Parents first, and then with patience again: a holder's guard ends the holder's containers, which carry no mark.
pub(super) fn end(variable: &str, value: &Path, patience: Duration) -> Vec<String> {
    let mark = [variable.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let mut ended = Vec::new();
    loop {
        let left = left_after(&mark, patience, &ended);
        if left.is_empty() {
            return ended.into_iter().map(|(_, name)| name).collect();
        }
        // All before the first is ended: its children would have no parent among them any more.
        let eldest: Vec<Pid> = left.iter().copied().filter(|pid| is_eldest(*pid, &left)).collect();
        ended.extend(eldest.into_iter().map(|pid| (pid, end_one(pid))));
    }
}

/// Those that do not end, and were not ended before: these may be in the kernel for a while. Only two empty looks in a
/// row count, for a process has no environment in the middle of an exec.
fn left_after(mark: &[u8], patience: Duration, ended: &[(Pid, String)]) -> Vec<Pid> {
    let deadline = Instant::now() + patience;
    let mut quiet = 0;
    loop {
        let mut left = marked(mark);
        quiet = if left.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 || !left.is_empty() && Instant::now() >= deadline {
            left.retain(|pid| ended.iter().all(|(known, _)| known != pid));
            return left;
        }
        std::thread::sleep(GLANCE);
    }
}

fn is_eldest(pid: Pid, among: &[Pid]) -> bool {
    parent(pid).is_none_or(|parent| !among.contains(&parent))
}

fn parent(pid: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(parent.trim().parse().ok()?)
}

fn end_one(pid: Pid) -> String {
    let number = pid.as_raw_nonzero();
    let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    // It may have ended by itself in between.
    let _ = kill_process(pid, Signal::KILL);
    format!("{} ({number})", name.trim())
}

/// Those that are merely to be buried have no environment any more.
fn marked(mark: &[u8]) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| has(*pid, mark)).collect()
}

fn has(pid: Pid, mark: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    environment.is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|entry| entry == mark))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{self, Child, Command};

    use super::*;

    fn mark(test: &str) -> PathBuf {
        PathBuf::from(format!("/{}/{test}", process::id()))
    }

    fn sleep(seconds: &str, mark: &Path) -> Child {
        Command::new("sleep").arg(seconds).env("MARK", mark).spawn().expect("sleep starts")
    }

    #[test]
    fn what_a_program_left_running_is_ended_and_named() {
        let (mut left, mut other) = (sleep("600", &mark("left")), sleep("600", &mark("other")));
        let named = end("MARK", &mark("left"), Duration::from_millis(1));
        assert_eq!(named, [format!("sleep ({})", left.id())]);
        assert!(!left.wait().expect("ours").success());
        assert!(other.try_wait().expect("ours").is_none(), "another program's process is left alone");
        other.kill().and_then(|()| other.wait()).expect("ours");
    }

    /// As a holder's guard does: it ends the containers when its holder is gone.
    #[test]
    fn who_watches_the_ended_has_the_time_to_do_its_work() {
        let dir = tempfile::tempdir().expect("a directory");
        let done = dir.path().join("done");
        let script = "exec 3> >(cat; echo done > \"$0\"); exec sleep 600";
        let mut watched = Command::new("bash");
        let watched = watched.args(["-c", script]).arg(&done).env("MARK", mark("watched")).spawn();
        let mut watched = watched.expect("bash starts");
        let named = end("MARK", &mark("watched"), Duration::from_secs(5));
        assert_eq!(named, [format!("sleep ({})", watched.id())]);
        assert!(done.exists(), "the watcher was ended before its work was done");
        watched.wait().expect("ours");
    }

    #[test]
    fn what_ends_by_itself_in_time_was_not_left() {
        let mut soon = sleep("0.2", &mark("soon"));
        assert_eq!(end("MARK", &mark("soon"), Duration::from_secs(60)), [""; 0]);
        soon.wait().expect("ours");
    }
}
