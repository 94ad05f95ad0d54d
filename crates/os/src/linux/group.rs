//! A job as a cgroup of either version: made, listed, killed and removed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::cgroup::Tree;
use super::{cgroup_v1, cgroup_v2, nested};
use crate::job::{JobLimits, JobName, JobStats};

/// How long killed processes may take to leave.
const LEAVE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) enum Group {
    V1(cgroup_v1::Dirs),
    V2(cgroup_v2::Dir),
}

impl Group {
    /// The group of that name, whether or not it exists.
    pub(crate) fn named(tree: &Tree, name: &JobName) -> io::Result<Self> {
        let (parent, id) = name.checked()?;
        let path = Path::new(parent).join(id);
        Ok(match tree {
            Tree::V1(mounts) => Self::V1(cgroup_v1::Dirs::new(mounts, &path)),
            Tree::V2(root) => Self::V2(cgroup_v2::Dir::new(root, &path)),
        })
    }

    pub(crate) fn create(tree: &Tree, name: &JobName) -> io::Result<Self> {
        Self::named(tree, name)?.make()
    }

    /// One that exists already is somebody else's.
    pub(crate) fn make(self) -> io::Result<Self> {
        for (made, dir) in self.dirs().into_iter().enumerate() {
            if let Err(error) = self.make_dir(dir) {
                self.dirs().into_iter().take(made).for_each(|dir| drop(std::fs::remove_dir(dir)));
                let text = format!("make cgroup {}: {error}", dir.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
        Ok(self)
    }

    /// The numbers behind that name among the groups of the tree. Directories are made and removed in the same order, so
    /// whoever was stopped midway has left one in the first place or in the last.
    pub(crate) fn tried_by(tree: &Tree, name: &str) -> BTreeSet<u32> {
        let anywhere = JobName { parent: "parent".to_owned(), id: "id".to_owned() };
        let Ok(group) = Self::named(tree, &anywhere) else { return BTreeSet::new() };
        let dirs = group.dirs();
        let roots =
            [dirs.first(), dirs.last()].into_iter().flatten().filter_map(|dir| dir.ancestors().nth(2));
        let entries = roots.filter_map(|root| std::fs::read_dir(root).ok()).flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(name)?.parse().ok()).collect()
    }

    /// The parent is shared and comes and goes with its jobs, so it may vanish between our two calls.
    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        let parent = dir.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let deadline = Instant::now() + LEAVE;
        loop {
            match std::fs::create_dir(parent) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            if let Self::V2(dir) = self {
                dir.delegate();
            }
            match std::fs::create_dir(dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && Instant::now() < deadline => {}
                other => return other,
            }
        }
    }

    fn dirs(&self) -> Vec<&Path> {
        match self {
            Self::V1(dirs) => dirs.all(),
            Self::V2(dir) => vec![dir.path()],
        }
    }

    pub(crate) fn exists(&self) -> bool {
        self.dirs().into_iter().any(Path::exists)
    }

    /// The files a process writes `0` to in order to be inside, opened before it is born. It is one thread then, and
    /// version 1 has a file for threads: a move of one's own thread does not wait until every processor has seen that
    /// processes are being moved, which takes longer than everything else that a start needs.
    pub(crate) fn doors(&self) -> io::Result<Vec<File>> {
        let name = match self {
            Self::V1(_) => "tasks",
            Self::V2(_) => "cgroup.procs",
        };
        let open = |dir: &Path| File::options().write(true).open(dir.join(name));
        self.dirs().into_iter().map(open).collect()
    }

    fn members(&self) -> &Path {
        match self {
            Self::V1(dirs) => dirs.members(),
            Self::V2(dir) => dir.path(),
        }
    }

    /// Those in groups below as well.
    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        nested::processes(self.members())
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        match self {
            Self::V1(dirs) => dirs.set_limits(limits),
            Self::V2(dir) => dir.set_limits(limits),
        }
    }

    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        match self {
            Self::V1(dirs) => dirs.stats(),
            Self::V2(dir) => dir.stats(),
        }
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        match self {
            Self::V1(dirs) => dirs.memory_limit_hits(),
            Self::V2(dir) => dir.memory_limit_hits(),
        }
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        match self {
            Self::V1(dirs) => {
                dirs.freeze();
                let signalled = self.kill_each();
                dirs.thaw()?;
                signalled?;
                self.kill_stragglers()
            }
            Self::V2(dir) => dir.kill().or_else(|_| self.kill_stragglers()),
        }
    }

    fn kill_each(&self) -> io::Result<bool> {
        let processes = self.processes()?;
        for pid in &processes {
            super::process::signal(*pid, Signal::KILL)?;
        }
        Ok(processes.is_empty())
    }

    /// Whoever forked before the freeze took hold is caught by listing again until nobody is left.
    fn kill_stragglers(&self) -> io::Result<()> {
        let deadline = Instant::now() + LEAVE;
        while !self.kill_each()? && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    pub(crate) fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + timeout;
        let mut pause = Duration::from_micros(500);
        loop {
            if self.processes()?.is_empty() {
                return Ok(true);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Whoever else removes the group may be faster, and its files are gone then: all that counts is that nobody is inside.
    fn end_all(&self) -> io::Result<()> {
        let ended = self.kill().and_then(|()| self.wait_empty(LEAVE).map(drop));
        if self.processes().unwrap_or_default().is_empty() { Ok(()) } else { ended }
    }

    /// Ends what is inside and removes every directory with what is below, and the shared parent with its last job.
    pub(crate) fn remove(&self) -> io::Result<()> {
        if self.exists() && !self.processes().unwrap_or_default().is_empty() {
            self.end_all()?;
        }
        let mut result = Ok(());
        for dir in self.dirs() {
            let removed = nested::remove(dir);
            result = result.and(removed);
            if let Some(parent) = dir.parent() {
                // Still in use by other jobs, most of the time.
                drop(std::fs::remove_dir(parent));
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Child, Spawn};
    use crate::sys::cgroup;
    use crate::sys::spawn::{Surroundings, spawn};

    fn sleeper(doors: Vec<File>) -> Child {
        let argv = vec!["sleep".to_owned(), "600".to_owned()];
        let request = Spawn { program: "/bin/sleep".into(), argv, ..Spawn::default() };
        spawn(&request, Surroundings { doors, join: None, own_user: false, with_init: false }).unwrap().child
    }

    /// An agent, a holder's guard and the agent after them may all find the same job to be ended.
    #[test]
    fn several_who_remove_one_group_at_once_all_succeed() {
        let Ok(tree) = crate::sys::job::group_tree() else { testbed::skip!("needs root and cgroups") };
        for round in 0..20 {
            let id = format!("{}-{round}", std::process::id());
            let name = JobName { parent: "porthole-os-many".into(), id };
            let group = Group::create(tree, &name).unwrap();
            let children: Vec<_> = (0..3).map(|_| sleeper(group.doors().unwrap())).collect();
            std::thread::scope(|scope| {
                let removing: Vec<_> = (0..4).map(|_| scope.spawn(|| group.remove())).collect();
                removing.into_iter().for_each(|it| it.join().unwrap().unwrap());
            });
            assert!(!group.exists());
            for child in children {
                assert_eq!(child.waiter().unwrap().wait().unwrap().signal, Some(9));
            }
        }
    }

    /// Machines with v1 controllers mount v2 beside them: without limits, but with its own way of killing.
    #[test]
    fn a_v2_group_is_entered_killed_with_one_write_and_removed() {
        let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let root = cgroup::v2_mount(&mountinfo).filter(|_| crate::elevated());
        let Some(root) = root else { testbed::skip!("needs root and a cgroup2 mount") };
        let name = JobName { parent: "porthole-os-v2".into(), id: std::process::id().to_string() };
        let group = Group::create(&Tree::V2(root), &name).unwrap();
        let child = sleeper(group.doors().unwrap());
        assert_eq!(group.processes().unwrap(), [child.id()]);
        assert!(!group.wait_empty(Duration::from_millis(20)).unwrap());
        let Group::V2(dir) = &group else { unreachable!("made so above") };
        dir.kill().unwrap();
        assert_eq!(child.waiter().unwrap().wait().unwrap().signal, Some(9));
        assert!(group.wait_empty(LEAVE).unwrap());
        group.remove().unwrap();
        assert!(!group.exists());
    }

    /// … and so are groups that were made below it. One for threads does not say what processes it has.
    #[test]
    fn a_v2_group_is_killed_and_removed_with_the_groups_below_it() {
        let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let root = cgroup::v2_mount(&mountinfo).filter(|_| crate::elevated());
        let Some(root) = root else { testbed::skip!("needs root and a cgroup2 mount") };
        for kind in ["domain", "threaded"] {
            let id = format!("{}-{kind}", std::process::id());
            let name = JobName { parent: "porthole-os-below".into(), id };
            let group = Group::create(&Tree::V2(root.clone()), &name).unwrap();
            for below in ["outer", "outer/inner"].map(|below| group.members().join(below)) {
                std::fs::create_dir(&below).unwrap();
                if kind == "threaded" {
                    std::fs::write(below.join("cgroup.type"), kind).unwrap();
                }
            }
            let inner = group.members().join("outer/inner/cgroup.procs");
            let child = sleeper(vec![File::options().write(true).open(inner).unwrap()]);
            assert!(group.processes().unwrap().contains(&child.id()), "{kind}");
            assert!(!group.wait_empty(Duration::from_millis(20)).unwrap(), "{kind}");
            group.remove().unwrap();
            assert_eq!(child.waiter().unwrap().wait().unwrap().signal, Some(9), "{kind}");
            assert!(!group.exists(), "{kind}");
        }
    }
}
