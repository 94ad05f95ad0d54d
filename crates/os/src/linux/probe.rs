//! What this kernel and account allow, tried in throw-away children that leave nothing behind.

use std::ffi::{CStr, c_int};
use std::os::unix::process::ExitStatusExt;

use super::born;
use super::cgroup::Tree;
use super::mounts::{Mounts, Sight, see};
use super::spawn::{fork, user_maps};
use crate::probe::{Probe, refused};

pub(crate) const PROBES: &[Probe] = &[
    Probe {
        id: "root",
        what: "runs as root",
        without: "containers run as you, without limits, in user and pid namespaces",
        try_it: root,
    },
    Probe {
        id: "cgroup",
        what: "cgroup tree with memory, cpu and pids",
        without: "no limits, and usage is summed up from /proc",
        try_it: cgroup_tree,
    },
    Probe {
        id: "cgroup-writable",
        what: "cgroups can be made",
        without: "no limits; a container is ended through its pid namespace",
        try_it: cgroup_writable,
    },
    Probe {
        id: "mount-namespace",
        what: "private mounts",
        without: "no container can have its own view of files; nothing can be started",
        try_it: mount_namespace,
    },
    Probe {
        id: "user-namespace",
        what: "user namespaces for this account",
        without: "containers need root: run with sudo",
        try_it: user_namespace,
    },
    Probe {
        id: "pid-namespace",
        what: "pid namespaces",
        without: "without root a container could not be ended as one",
        try_it: pid_namespace,
    },
    Probe {
        id: "bind-mount",
        what: "volumes at their own paths",
        without: "a container sees its volumes only by links (Linux 5.12 or newer is needed)",
        try_it: bind_mount,
    },
    Probe {
        id: "overlayfs",
        what: "overlay file system",
        without: "a container cannot have a writable image of its own",
        try_it: overlayfs,
    },
    Probe {
        id: "pidfd",
        what: "process descriptors",
        without: "processes cannot be held safely; nothing can be started (Linux 5.9 or newer is needed)",
        try_it: pidfd,
    },
];

fn root() -> Result<String, String> {
    let uid = rustix::process::geteuid();
    if uid.is_root() { Ok("uid 0".to_owned()) } else { Err(format!("uid {}", uid.as_raw())) }
}

fn cgroup_tree() -> Result<String, String> {
    match super::cgroup::tree().as_ref()? {
        Tree::V1(mounts) => {
            let freezer = if mounts.freezer.is_some() { ", freezer" } else { "" };
            Ok(format!("version 1 with memory, cpu, pids{freezer}; memory at {}", mounts.memory.display()))
        }
        Tree::V2(root) => Ok(format!("version 2 with memory, cpu, pids at {}", root.display())),
    }
}

fn cgroup_writable() -> Result<String, String> {
    super::job::group_tree()?;
    Ok("made one and removed it".to_owned())
}

/// What a container's own view of files needs, taken the way a container takes it.
fn mount_namespace() -> Result<String, String> {
    let view = private_view();
    tried(|| if see(&view, -1).is_ok() { 0 } else { -1 })
}

fn private_view() -> Sight {
    Sight::Own(Mounts { user: user_maps(), ..Mounts::default() })
}

fn bind_mount() -> Result<String, String> {
    super::view::bind_works().map(|()| "bound one, read-only".to_owned())
}

fn user_namespace() -> Result<String, String> {
    // SAFETY: the child has one thread and ends at once.
    tried(|| unsafe { libc::unshare(libc::CLONE_NEWUSER) })
}

fn pid_namespace() -> Result<String, String> {
    let flags = libc::CLONE_NEWPID | user_if_needed();
    // SAFETY: the child has one thread and ends at once.
    tried(|| unsafe { libc::unshare(flags) })
}

fn user_if_needed() -> c_int {
    if crate::elevated() { 0 } else { libc::CLONE_NEWUSER }
}

fn overlayfs() -> Result<String, String> {
    let (view, options) = (private_view(), overlay_options());
    tried(|| if see(&view, -1).is_ok() { overlay_on_scratch(options) } else { -1 })
}

fn overlay_options() -> &'static CStr {
    if crate::elevated() {
        c"lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w"
    } else {
        c"lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr"
    }
}

/// A scratch file system over /tmp, in a mount namespace that ends with the child.
fn overlay_on_scratch(options: &CStr) -> c_int {
    let (tmpfs, overlay) = (c"tmpfs".as_ptr(), c"overlay".as_ptr());
    // SAFETY: static strings only; the first call that fails ends the trial with its errno.
    unsafe {
        let ready = libc::mount(tmpfs, c"/tmp".as_ptr(), tmpfs, 0, std::ptr::null()) == 0
            && [c"/tmp/l", c"/tmp/u", c"/tmp/w", c"/tmp/m"]
                .iter()
                .all(|it| libc::mkdir(it.as_ptr(), 0o700) == 0);
        if ready { libc::mount(overlay, c"/tmp/m".as_ptr(), overlay, 0, options.as_ptr().cast()) } else { -1 }
    }
}

fn pidfd() -> Result<String, String> {
    let me = rustix::process::getpid();
    rustix::process::pidfd_open(me, rustix::process::PidfdFlags::empty())
        .map(|_| "opened our own".to_owned())
        .map_err(|error| refused(error.into()))
}

/// Runs a few system calls in a child; its exit code is 0 or the errno.
pub(crate) fn tried(trial: impl FnOnce() -> c_int) -> Result<String, String> {
    let pid = fork(|| {
        let code = if trial() < 0 { born::errno() } else { 0 };
        born::leave(code)
    })
    .map_err(refused)?;
    let pid = super::process::to_pid(pid).map_err(refused)?;
    let waited = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    let raw = waited.ok().flatten().map_or(0xff00, |(_, status)| status.as_raw());
    match std::process::ExitStatus::from_raw(raw).code() {
        Some(0) => Ok("tried".to_owned()),
        Some(errno) => Err(refused(std::io::Error::from_raw_os_error(errno))),
        None => Err("the trial was killed".to_owned()),
    }
}

pub(crate) fn library_exports(library: &str, _functions: &[&str]) -> Result<(), String> {
    Err(format!("{library} is a Windows library"))
}

pub(crate) fn service_registered(name: &str) -> Result<(), String> {
    Err(format!("{name} is a Windows service"))
}
