//! What a guard's work left on the host, looked for from outside: tests want this list to be empty.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::MARK;

/// Everything on this host that carries the guard's id: processes, links, mounts (in any mount namespace),
/// cgroups and files in its directory. One line each.
///
/// ```no_run
/// # let (id, dir) = ("0badcafe", std::path::Path::new("/nowhere"));
/// assert_eq!(testbed::guard::traces(id, dir), Vec::<String>::new());
/// ```
pub fn traces(id: &str, dir: &Path) -> Vec<String> {
    let mut found = processes(id);
    found.extend(mounts(dir));
    found.extend(links(id));
    found.extend(cgroups(id));
    found.extend(dir.exists().then(|| format!("directory {}", dir.display())));
    found
}

fn processes(id: &str) -> Vec<String> {
    let wanted = format!("{MARK}={id}");
    let carries = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    pids().into_iter().filter(carries).map(|pid| format!("process {pid} {}", command_line(pid))).collect()
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim_end().to_owned()
}

fn mounts(dir: &Path) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for pid in pids() {
        let Ok(namespace) = fs::read_link(format!("/proc/{pid}/ns/mnt")) else { continue };
        if !seen.insert(namespace) {
            continue;
        }
        let table = fs::read_to_string(format!("/proc/{pid}/mounts")).unwrap_or_default();
        let points = table.lines().filter_map(|line| line.split(' ').nth(1));
        let ours = points.filter(|point| Path::new(point).starts_with(dir));
        found.extend(ours.map(|point| format!("mount {point} (seen by process {pid})")));
    }
    found
}

fn links(id: &str) -> Vec<String> {
    let names = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(id)).map(|name| format!("link {name}")).collect()
}

fn cgroups(id: &str) -> Vec<String> {
    let mut found = Vec::new();
    let tops = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    // Version 1 has a tree per controller below, version 2 has only the one.
    for top in tops.chain([Path::new("/sys/fs/cgroup").to_owned()]) {
        let below = fs::read_dir(&top).into_iter().flatten().flatten();
        let ours = below.filter(|entry| entry.file_name().to_string_lossy().contains(id));
        found.extend(ours.map(|entry| format!("cgroup {}", entry.path().display())));
    }
    found
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
