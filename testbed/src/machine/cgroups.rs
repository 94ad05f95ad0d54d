//! A machine's part of every cgroup hierarchy of the host, version 1 and version 2.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::guard::{Guard, Resource};
use crate::process::wait_for;

/// One directory per hierarchy, all of the same name.
#[derive(Debug, Clone)]
pub(super) struct Cgroups {
    name: String,
    hierarchies: Vec<Hierarchy>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    unified: bool,
}

// === impl Cgroups ===

impl Cgroups {
    /// Finds the host's hierarchies; the directories in them come with the first boot.
    pub(super) fn plan(guard: &Guard) -> Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").context("read /proc/self/mounts")?;
        let name = format!("porthole-machine-{}", guard.id());
        let cgroups = Self { name, hierarchies: hierarchies(&mounts) };
        for dir in cgroups.dirs() {
            guard.register(&Resource::Cgroup(dir))?;
        }
        Ok(cgroups)
    }

    /// Makes the directories for a boot.
    pub(super) fn make(&self) -> Result<()> {
        for dir in self.dirs() {
            fs::create_dir(&dir).with_context(|| format!("create cgroup {}", dir.display()))?;
            fill_cpuset(&dir)?;
        }
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The list that init.sh reads: kind and mount point a line.
    pub(super) fn list(&self) -> String {
        let kind = |one: &Hierarchy| if one.unified { "cgroup2" } else { "cgroup" };
        self.hierarchies.iter().map(|one| format!("{} {}\n", kind(one), one.mount.display())).collect()
    }

    /// The machine's directories, as the host sees them.
    pub(super) fn dirs(&self) -> Vec<PathBuf> {
        self.hierarchies.iter().map(|one| one.mount.join(&self.name)).collect()
    }

    /// Where a command that enters the running machine belongs.
    pub(super) fn homes(&self) -> Vec<PathBuf> {
        let home = |one: &Hierarchy| {
            let dir = one.mount.join(&self.name);
            if one.unified { dir.join("init") } else { dir }
        };
        self.hierarchies.iter().map(home).collect()
    }

    /// Removes the directories with what the machine made inside; its processes have ended. Limits and enabled
    /// controllers go too: a node that boots finds none of its former self.
    pub(super) fn sweep(&self) -> Result<()> {
        for dir in self.dirs() {
            let gone = || {
                if !dir.exists() {
                    return Ok(Some(()));
                }
                let mut find = Command::new("find");
                find.arg(&dir).args(["-depth", "-type", "d", "-exec", "rmdir", "{}", "+"]);
                find.output().context("start find")?;
                Ok(None)
            };
            wait_for(&format!("cgroup {} to be empty", dir.display()), Duration::from_secs(5), gone)?;
        }
        Ok(())
    }
}

/// A version 1 cpuset takes no process before it has processors and memory.
fn fill_cpuset(dir: &Path) -> Result<()> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let (ours, above) = (dir.join(file), dir.parent().unwrap_or(dir).join(file));
        if ours.exists() && above.exists() {
            let value = fs::read(&above).with_context(|| format!("read {}", above.display()))?;
            fs::write(&ours, value).with_context(|| format!("write {}", ours.display()))?;
        }
    }
    Ok(())
}

fn hierarchies(mounts: &str) -> Vec<Hierarchy> {
    let parse = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (mount, kind) = (words.next()?, words.next()?);
        let unified = kind == "cgroup2";
        let ours = mount.starts_with("/sys/fs/cgroup") && (unified || kind == "cgroup");
        ours.then(|| Hierarchy { mount: mount.into(), unified })
    };
    let mut found: Vec<Hierarchy> = mounts.lines().filter_map(parse).collect();
    // A mount over a mount is listed twice and seen once.
    found.sort_by(|a, b| a.mount.cmp(&b.mount));
    found.dedup_by(|a, b| a.mount == b.mount);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_and_nothing_else() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /elsewhere cgroup rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        let found = hierarchies(mounts);
        let shown: Vec<_> =
            found.iter().map(|one| (one.mount.to_str().expect("text"), one.unified)).collect();
        assert_eq!(shown, [("/sys/fs/cgroup/cpu", false), ("/sys/fs/cgroup/unified", true)]);
    }
}
