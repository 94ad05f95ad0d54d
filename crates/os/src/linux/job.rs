//! A job on Linux: a cgroup where we may make one, else a set of pid namespaces.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::cgroup;
use super::group::Group;
use super::guard;
use super::namespace::Inits;
use super::spawn::{self, Namespaces, Surroundings};
use crate::job::{JobLimits, JobName, JobStats};
use crate::process::{Child, Overlay, Spawn, SpawnError, SpawnStep};

#[derive(Debug)]
pub(crate) struct Job {
    name: JobName,
    kind: Kind,
    view: Mutex<Option<View>>,
}

#[derive(Debug)]
enum Kind {
    Group(Group),
    Namespace(Inits),
}

/// What the first process of the job sees; later ones with the same overlay see the same.
#[derive(Debug)]
struct View {
    overlay: Option<Overlay>,
    user: Option<OwnedFd>,
    mount: OwnedFd,
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

fn try_group(tree: &cgroup::Tree) -> Result<(), String> {
    let name = JobName { parent: format!("porthole-probe-{}", std::process::id()), id: "try".to_owned() };
    Group::create(tree, &name).and_then(|group| group.remove()).map_err(|error| format!("cgroups: {error}"))
}

pub(crate) fn end_with_us() -> io::Result<()> {
    guard::end_with_us()
}

pub(crate) fn limits_work() -> Result<(), String> {
    group_tree().map(drop)
}

pub(crate) fn holds_processes(name: &JobName) -> io::Result<bool> {
    let Ok(tree) = group_tree() else { return Ok(false) };
    let group = Group::named(tree, name)?;
    Ok(group.exists() && !group.processes()?.is_empty())
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
        Ok(Self { name: name.clone(), kind, view: Mutex::new(None) })
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
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let join = shared(view.as_ref(), request).map_err(SpawnError::at(SpawnStep::Namespace))?;
        let child = spawn::spawn(request, Surroundings { doors, join, own_user, with_init })?;
        if view.is_none() {
            *view = seen_by(child.id(), request, own_user);
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

fn shared(view: Option<&View>, request: &Spawn) -> io::Result<Option<Namespaces>> {
    let Some(view) = view.filter(|view| view.overlay == request.overlay) else { return Ok(None) };
    let user = view.user.as_ref().map(OwnedFd::try_clone).transpose()?;
    Ok(Some(Namespaces { user, mount: view.mount.try_clone()? }))
}

/// A process that has ended already leaves nothing to share, and the next one mounts anew.
fn seen_by(pid: u32, request: &Spawn, own_user: bool) -> Option<View> {
    let open = |kind: &str| File::open(format!("/proc/{pid}/ns/{kind}")).ok().map(OwnedFd::from);
    let user = if own_user { Some(open("user")?) } else { None };
    Some(View { overlay: request.overlay.clone(), user, mount: open("mnt")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cgroups_a_limit_is_refused_and_no_limit_is_not() {
        let name = JobName { parent: "p".to_owned(), id: "j".to_owned() };
        let job = Job { name, kind: Kind::Namespace(Inits::default()), view: Mutex::new(None) };
        job.set_limits(&JobLimits::default()).unwrap();
        let error = job.set_limits(&JobLimits { processes: Some(1), ..JobLimits::default() }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
    }
}
