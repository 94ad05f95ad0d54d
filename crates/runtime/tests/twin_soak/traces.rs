//! What pods leave on a host, counted.

use runtime::{ContainerId, PodId};
use serde::Serialize;

use crate::process::running;
use crate::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Traces {
    pub(crate) holders: usize,
    cgroups: usize,
    mounts: usize,
    users: usize,
    /// Below the root: records, journals, logs, sockets, scratch. And in the directory that has the mount points.
    files: usize,
    bytes: usize,
}

// === impl Traces ===

impl Traces {
    pub(crate) fn of(world: &World) -> Traces {
        let files = world.listing(".");
        // A directory keeps the size that it once needed.
        let file = |path| std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file);
        let bytes: u64 = files.iter().filter_map(file).map(|found| found.len()).sum();
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let place = world.path("").display().to_string();
        let layout = &world.runtime().node().layout;
        let users = os::user::temporary().unwrap();
        Traces {
            holders: running(&world.root().join("bin")).len(),
            cgroups: cgroups(world),
            mounts: mounts.lines().filter(|line| line.contains(&place)).count(),
            users: users.iter().filter(|name| layout.is_temporary_user(name)).count(),
            files: files.len(),
            bytes: usize::try_from(bytes).unwrap(),
        }
    }

    /// Of what there is more here than there.
    pub(crate) fn beyond(&self, other: &Traces) -> Vec<String> {
        let counts = |it: &Traces| {
            [
                ("holders", it.holders),
                ("cgroups", it.cgroups),
                ("mounts", it.mounts),
                ("users", it.users),
                ("files", it.files),
                ("bytes", it.bytes),
            ]
        };
        let both = counts(self).into_iter().zip(counts(other));
        let more = both.filter(|((_, here), (_, there))| here > there);
        more.map(|((what, here), (_, there))| format!("{what}: {there} became {here}")).collect()
    }
}

/// The groups of this node's jobs in every tree.
fn cgroups(world: &World) -> usize {
    let any = ContainerId::of(&PodId::parse("x").unwrap(), "x", 0);
    let parent = world.runtime().node().layout.job(&any).parent;
    let parents = testbed::cgroup::groups(&parent).unwrap();
    let groups = parents.into_iter().flat_map(std::fs::read_dir);
    groups.flatten().flatten().filter(|entry| entry.path().is_dir()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_anything_is_named() {
        let none = Traces { holders: 0, cgroups: 0, mounts: 0, users: 0, files: 9, bytes: 100 };
        let more = Traces { mounts: 2, bytes: 101, ..none };
        assert_eq!(more.beyond(&none), ["mounts: 0 became 2", "bytes: 100 became 101"]);
        assert!(none.beyond(&more).is_empty() && none.beyond(&none).is_empty());
    }
}
