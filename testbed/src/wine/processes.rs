//! Which Windows processes run, asked of `/proc` and not of Wine: a test that says "nothing is left" must not depend
//! on what Wine believes.

use std::fs;

use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::room::Room;

/// What Wine starts for itself when it boots.
const SYSTEM: [&str; 9] = [
    "conhost.exe",
    "explorer.exe",
    "plugplay.exe",
    "rpcss.exe",
    "services.exe",
    "svchost.exe",
    "wineboot.exe",
    "winedevice.exe",
    "winemenubuilder.exe",
];

/// A Windows process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The Unix process id, as this host sees it.
    pub pid: u32,
    /// The file name of the executable, e.g. `porthole.exe`.
    pub name: String,
    pub command_line: Vec<String>,
}

// === impl Process ===

impl Process {
    /// Whether Wine runs it for itself.
    pub fn is_system(&self) -> bool {
        let own = |path: &String| path.to_ascii_lowercase().starts_with(r"c:\windows\system32\");
        SYSTEM.contains(&self.name.as_str()) && self.command_line.first().is_some_and(own)
    }

    /// Ends it as a crash would: with SIGKILL, from outside.
    pub fn kill(&self) -> Result<()> {
        kill(self.pid)
    }

    /// Whether it still runs. A process that has ended and awaits burial does not.
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.state != 'Z') && read(self.pid).as_ref() == Some(self)
    }
}

/// The two fields of `/proc/PID/stat` that are wanted here.
pub(super) struct Stat {
    pub(super) state: char,
    pub(super) parent: u32,
}

/// One that has ended meanwhile is as it should be.
pub(super) fn kill(pid: u32) -> Result<()> {
    let id =
        i32::try_from(pid).ok().and_then(Pid::from_raw).with_context(|| format!("{pid} is no process id"))?;
    match kill_process(id, Signal::KILL) {
        Err(Errno::SRCH) => Ok(()),
        other => other.with_context(|| format!("kill process {pid}")),
    }
}

pub(super) fn windows_processes(room: &Room) -> Result<Vec<Process>> {
    Ok(room.pids()?.into_iter().filter_map(read).collect())
}

/// None for what has ended and for Unix programs.
fn read(pid: u32) -> Option<Process> {
    let loader = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    if !matches!(loader.file_name()?.to_str()?, "wine64" | "wine64-preloader") {
        return None;
    }
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command_line = words(&bytes);
    let name = base_name(command_line.first()?).to_owned();
    Some(Process { pid, name, command_line })
}

fn words(cmdline: &[u8]) -> Vec<String> {
    // Wine moves the arguments to the front and leaves zeros behind them.
    let end = cmdline.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let words = cmdline[..end].split(|byte| *byte == 0);
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn base_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

pub(super) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name in parentheses may hold anything, also spaces and parentheses.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(Stat { state, parent: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_part_of_either_kind_of_path() {
        assert_eq!(base_name(r"C:\windows\system32\services.exe"), "services.exe");
        assert_eq!(base_name("/tmp/x/hello.exe"), "hello.exe");
        assert_eq!(base_name("cmd"), "cmd");
    }

    #[test]
    fn zeros_behind_the_arguments_are_no_arguments() {
        assert_eq!(words(b"a.exe\0\0x y\0\0\0\0"), ["a.exe", "", "x y"]);
        assert!(words(b"").iter().all(String::is_empty));
    }

    #[test]
    fn a_strange_name_does_not_confuse_the_fields() {
        let stat = parse_stat("12 (a) b (c) S 7 12").expect("parsed");
        assert_eq!((stat.state, stat.parent), ('S', 7));
    }

    #[test]
    fn a_program_with_a_system_name_elsewhere_is_a_program() {
        let of =
            |path: &str| Process { pid: 1, name: base_name(path).into(), command_line: vec![path.into()] };
        assert!(of(r"C:\windows\system32\services.exe").is_system());
        assert!(!of(r"Z:\tmp\services.exe").is_system());
        assert!(!of(r"C:\windows\system32\cmd.exe").is_system());
    }
}
