//! The host's cgroup hierarchies, version 1 and version 2, and the groups of a name in them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Where a hierarchy is mounted; that of version 2 may be at the root of them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    pub mount: PathBuf,
    pub unified: bool,
}

/// All of this host.
pub fn hierarchies() -> Result<Vec<Hierarchy>> {
    let mounts = fs::read_to_string("/proc/self/mounts").context("read /proc/self/mounts")?;
    Ok(parse(&mounts))
}

/// The directories of a group, one per hierarchy that has it.
pub fn groups(name: &str) -> Result<Vec<PathBuf>> {
    Ok(named(&hierarchies()?, name))
}

fn named(hierarchies: &[Hierarchy], name: &str) -> Vec<PathBuf> {
    hierarchies.iter().map(|one| one.mount.join(name)).filter(|group| group.exists()).collect()
}

fn parse(mounts: &str) -> Vec<Hierarchy> {
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

    fn shown(mounts: &str) -> Vec<(String, bool)> {
        parse(mounts).into_iter().map(|one| (one.mount.display().to_string(), one.unified)).collect()
    }

    #[test]
    fn both_versions_are_found_and_nothing_else() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\ncgroup /elsewhere cgroup rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        let expected = [("/sys/fs/cgroup/cpu", false), ("/sys/fs/cgroup/unified", true)];
        assert_eq!(shown(mounts), expected.map(|(mount, unified)| (mount.to_owned(), unified)));
    }

    #[test]
    fn a_host_of_version_2_alone_has_it_at_the_root_of_the_tree() {
        let mounts = "sysfs /sys sysfs rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate 0 0\n\
                      bpf /sys/fs/bpf bpf rw 0 0\n";
        assert_eq!(shown(mounts), [("/sys/fs/cgroup".to_owned(), true)]);
    }

    #[test]
    fn a_group_is_found_in_every_hierarchy_that_has_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| Hierarchy { mount: dir.path().join(name), unified: name.is_empty() };
        fs::create_dir_all(dir.path().join("pids/job")).expect("a group");
        fs::create_dir_all(dir.path().join("memory")).expect("a hierarchy");
        let v1 = [at("memory"), at("pids")];
        assert_eq!(named(&v1, "job"), [dir.path().join("pids/job")]);
        fs::create_dir(dir.path().join("job")).expect("a group");
        assert_eq!(named(&[at("")], "job"), [dir.path().join("job")]);
    }
}
