//! A job on Linux: a cgroup where we may make one, else a set of pid namespaces.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::cgroup;
use super::group::Group;
use super::guard;
use super::namespace::Inits;
use super::spawn::{self, Namespaces, Started, Surroundings};
use crate::job::{JobLimits, JobName, JobStats};
use crate::process::{Child, Spawn, SpawnError, SpawnStep};
use crate::view::View;

#[derive(Debug)]
pub(crate) struct Job {
    name: JobName,
    kind: Kind,
    shared: Mutex<Option<Shared>>,
}

#[derive(Debug)]
enum Kind {
    Group(Group),
    Namespace(Inits),
}

/// What the first process of the job sees, and so all others. Held here, it outlives that process.
#[derive(Debug)]
struct Shared {
    view: View,
    namespaces: Namespaces,
}

/// Whether jobs are cgroups here; otherwise why not.
pub(crate) fn group_tree() -> Result<&'static cgroup::Tree, String> {
    static WRITABLE: OnceLock<Result<(), String>> = OnceLock::new();
    if !crate::elevated() {
        return Err("not root".to_owned());
    }
    let tree = cgroup::tree().as_ref().map_err(Clone::clone)?;
    // Root in somebody's container may see the trees and not be allowed to change them.
    WRITABLE.get_or_init(|| try_group(tree)).clone().map(|()| tree)
}

/// The number of who tries is in the name, so that what a killed one leaves is known as such.
const TRIED: &str = "porthole-probe-";

fn try_group(tree: &cgroup::Tree) -> Result<(), String> {
    sweep_tried(tree);
    let group = tried(tree, std::process::id()).and_then(Group::make);
    group.and_then(|group| can_be_entered(&group)).map_err(|error| format!("cgroups: {error}"))
}

/// Where another file system lies over the tree, directories can be made that are no groups.
fn can_be_entered(group: &Group) -> io::Result<()> {
    let doors = group.doors().map(drop);
    let removed = group.remove();
    doors.and(removed)
}

fn tried(tree: &cgroup::Tree, pid: u32) -> io::Result<Group> {
    Group::named(tree, &JobName { parent: format!("{TRIED}{pid}"), id: "try".to_owned() })
}

/// An empty group harms nobody, so one that cannot be looked at or removed is the next one's to try.
fn sweep_tried(tree: &cgroup::Tree) {
    let ended = |pid: &u32| !super::process::is_running(*pid);
    for pid in Group::tried_by(tree, TRIED).into_iter().filter(ended) {
        drop(tried(tree, pid).and_then(|group| group.remove()));
    }
}

pub(crate) fn end_with_us() -> io::Result<()> {
    guard::end_with_us()
}

pub(crate) fn limits_work() -> Result<(), String> {
    group_tree().map(drop)
}

pub(crate) fn holds_processes(name: &JobName) -> io::Result<bool> {
    let Ok(tree) = group_tree() else { return Ok(false) };
    // One that is removed while we look is gone as well.
    match Group::named(tree, name)?.processes() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => Ok(!other?.is_empty()),
    }
}

pub(crate) fn stats_of(name: &JobName) -> io::Result<Option<JobStats>> {
    let Ok(tree) = group_tree() else { return Ok(None) };
    Group::named(tree, name)?.stats().map(Some)
}

pub(crate) fn sweep(name: &JobName) -> io::Result<bool> {
    let Ok(tree) = group_tree() else { return Ok(false) };
    let group = Group::named(tree, name)?;
    if !group.exists() {
        return Ok(false);
    }
    group.remove()?;
    Ok(true)
}

// === impl Job ===

impl Job {
    pub(crate) fn create(name: &JobName) -> io::Result<Self> {
        let kind = match group_tree() {
            Ok(tree) => Kind::Group(made(tree, name)?),
            Err(_) => Kind::Namespace(Inits::default()),
        };
        Ok(Self { name: name.clone(), kind, shared: Mutex::new(None) })
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        match &self.kind {
            Kind::Group(group) => group.set_limits(limits),
            Kind::Namespace(_) if limits.is_unlimited() => Ok(()),
            Kind::Namespace(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "limits need root and cgroups"))
            }
        }
    }

    pub(crate) fn spawn(&self, request: &Spawn) -> Result<Child, SpawnError> {
        let doors = match &self.kind {
            Kind::Group(group) => group.doors().map_err(SpawnError::at(SpawnStep::Job))?,
            Kind::Namespace(_) => Vec::new(),
        };
        let with_init = matches!(self.kind, Kind::Namespace(_));
        let own_user = with_init && !crate::elevated();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let join = shared.as_ref().map(|shared| shared.join(&request.view)).transpose();
        let join = join.map_err(SpawnError::at(SpawnStep::Namespace))?;
        let Started { child, made } =
            spawn::spawn(request, Surroundings { doors, join, own_user, with_init })?;
        if let Some(namespaces) = made {
            *shared = Some(Shared { view: request.view.clone(), namespaces });
        }
        if let Kind::Namespace(inits) = &self.kind {
            inits.add(&child.process).map_err(SpawnError::at(SpawnStep::Job))?;
        }
        Ok(child)
    }

    pub(crate) fn terminate(&self, _exit_code: u32) -> io::Result<()> {
        match &self.kind {
            Kind::Group(group) => group.kill(),
            Kind::Namespace(inits) => inits.kill(),
        }
    }

    pub(crate) fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        match &self.kind {
            Kind::Group(group) => group.wait_empty(timeout),
            Kind::Namespace(inits) => inits.wait_empty(timeout),
        }
    }

    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        match &self.kind {
            Kind::Group(group) => group.processes(),
            Kind::Namespace(inits) => inits.processes(),
        }
    }

    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        match &self.kind {
            Kind::Group(group) => group.stats(),
            Kind::Namespace(inits) => inits.stats(),
        }
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        match &self.kind {
            Kind::Group(group) => group.memory_limit_hits(),
            Kind::Namespace(_) => Ok(0),
        }
    }

    pub(crate) fn close(self) -> io::Result<()> {
        self.end()
    }

    /// Removing what is gone already does nothing, so closing and then dropping is fine.
    fn end(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Group(group) => group.remove().map(|()| guard::tell('-', &self.name)),
            Kind::Namespace(inits) => inits.kill(),
        }
    }
}

/// The guard hears of it first: a job that it does not know would outlive us.
fn made(tree: &cgroup::Tree, name: &JobName) -> io::Result<Group> {
    guard::tell('+', name);
    // One of that name is somebody else's, and not for our guard to end.
    Group::create(tree, name).inspect_err(|_| guard::tell('-', name))
}

impl Drop for Job {
    fn drop(&mut self) {
        // Nobody is left to hear of an error; the agent's sweep is the second line.
        drop(self.end());
    }
}

// === impl Shared ===

impl Shared {
    fn join(&self, wanted: &View) -> io::Result<Namespaces> {
        if !wanted.is_the_hosts() && *wanted != self.view {
            let text = "the job's processes see other files than these: one job has one view";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let user = self.namespaces.user.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(Namespaces { user, mount: self.namespaces.mount.try_clone()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cgroups_a_limit_is_refused_and_no_limit_is_not() {
        let name = JobName { parent: "p".to_owned(), id: "j".to_owned() };
        let job = Job { name, kind: Kind::Namespace(Inits::default()), shared: Mutex::new(None) };
        job.set_limits(&JobLimits::default()).unwrap();
        let error = job.set_limits(&JobLimits { processes: Some(1), ..JobLimits::default() }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
