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
pub(super) fn end(variable: &str, value: &Path, patience: Duration) -> Vec<String> {
    let mark = [variable.as_bytes(), b"=", value.as_os_str().as_encoded_bytes()].concat();
    let deadline = Instant::now() + patience;
    loop {
        let left = marked(&mark);
        if left.is_empty() {
            return Vec::new();
        }
        if Instant::now() >= deadline {
            return left.into_iter().map(end_one).collect();
        }
        std::thread::sleep(GLANCE);
    }
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

    #[test]
    fn what_ends_by_itself_in_time_was_not_left() {
        let mut soon = sleep("0.2", &mark("soon"));
        assert_eq!(end("MARK", &mark("soon"), Duration::from_secs(60)), [""; 0]);
        soon.wait().expect("ours");
    }
}
