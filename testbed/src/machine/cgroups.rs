//! A machine's part of every cgroup hierarchy of the host, version 1 and version 2.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cgroup::{Hierarchy, hierarchies};
use crate::guard::{Guard, Resource};
use crate::process::wait_for;

/// One directory per hierarchy, all of the same name.
#[derive(Debug, Clone)]
pub(super) struct Cgroups {
    name: String,
    hierarchies: Vec<Hierarchy>,
}

// === impl Cgroups ===

impl Cgroups {
    /// Finds the host's hierarchies; the directories in them come with the first boot.
    pub(super) fn plan(guard: &Guard) -> Result<Self> {
        let name = format!("porthole-machine-{}", guard.id());
        let cgroups = Self { name, hierarchies: hierarchies()? };
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
