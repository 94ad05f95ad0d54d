//! A container's volumes: what is bound or linked where, and what is refused before anything is touched.
//!
//! | mode | the image is at | a volume is at |
//! |---|---|---|
//! | bind | one path that each container sees its own image at | its mount path, seen by this container alone, and below the image |
//! | symlink | a path of this container on the host | below the image, without its drive |
//! | host | as with symlink, in a plain job | as with symlink |

use crate::Style;
use crate::destination::{Destination, DestinationError};
use crate::drive::Root;

mod passing;
mod pipe;

pub use passing::{Peers, Propagation};

/// How the container sees the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Bind,
    Symlink,
    Host,
}

/// What was found at a volume's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Directory,
    File,
    Socket,
    /// Nothing: a directory is made there.
    Missing,
}

/// One volume as a pod or a kubelet asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Volume<'a> {
    pub host_path: &'a str,
    pub container_path: &'a str,
    pub readonly: bool,
    /// Read-only without what is mounted below the source.
    pub shallow: bool,
    pub source: Source,
    pub propagation: Propagation,
    pub peers: Peers,
}

/// What the container is like.
#[derive(Debug, Clone, Copy)]
pub struct Container<'a> {
    /// By what the sources are read; a path in a container that names no drive is on `C:`, whatever the host's is.
    pub root: Root<'a>,
    pub mode: Mode,
    /// Where it finds its image.
    pub image: &'a str,
}

/// What is done for a volume, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    MakeSource {
        path: String,
    },
    Bind {
        source: String,
        target: String,
        readonly: bool,
        shallow: bool,
        propagation: Propagation,
        file: bool,
    },
    Link {
        at: String,
        to: String,
        file: bool,
    },
}

/// All of a container's volumes, outer ones first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Lines for the pod's log: nothing fails because of these.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MountError {
    #[error(
        "mount {path:?}: a HostProcess container cannot have a named pipe mounted: use the pipe's own path, which it sees as the host does"
    )]
    Pipe { path: String },
    #[error(
        "mount {path:?}: a HostProcess container cannot have a Unix socket mounted: use the socket's path on the host, {host_path:?}"
    )]
    Socket { path: String, host_path: String },
    #[error("mount to {path:?}: the path on the host is empty")]
    NoSource { path: String },
    #[error("the path in the container")]
    Destination(#[from] DestinationError),
    #[error("two mounts at {path:?}: wanted one each")]
    Twice { path: String },
    #[error("{first:?} and {second:?} would both be at {path:?} in symlink mode, which knows no drives")]
    Collide { first: String, second: String, path: String },
    #[error("mount at {path:?}: {reason}")]
    Protected { path: String, reason: &'static str },
    #[error(
        "mount {path:?}: mounts that come later are passed on in bind mode alone, and on Windows not at all"
    )]
    NotPassedOn { path: String },
    #[error(
        "mount {path:?}: {host_path:?} is not on a {wanted} mount, or this is not root, so mounts that come later cannot be passed on"
    )]
    Unshared { path: String, host_path: String, wanted: &'static str },
    #[error(
        "mount at {path:?}: it lies in {outer:?}, which passes mounts on to the host, where it would stay: wanted another place"
    )]
    InShared { path: String, outer: String },
}

/// Paths no volume may cover: the container could not start, or would run something else than its image.
const PROTECTED: [(Style, &str, &str); 8] = [
    (Style::Windows, "C:\\", "it would hide the system from the container"),
    (Style::Windows, "C:\\Windows", "it would hide Windows from the container"),
    (Style::Windows, "C:\\Windows\\System32", "it would hide Windows from the container"),
    (Style::Unix, "/", "it would hide the system from the container"),
    (Style::Unix, "/proc", "it would hide the kernel's files from the container"),
    (Style::Unix, "/sys", "it would hide the kernel's files from the container"),
    (Style::Unix, "/dev", "it would hide the host's devices from the container"),
    (Style::Unix, "/usr", "it would hide the system from the container"),
];

/// Plans a container's volumes. Pure: the caller has looked at the sources.
pub fn plan(volumes: &[Volume<'_>], container: &Container<'_>) -> Result<Plan, MountError> {
    let mut placed: Vec<(Destination, &Volume<'_>)> = Vec::with_capacity(volumes.len());
    for volume in volumes {
        let destination = admit(volume, container)?;
        if let Some(error) = placed.iter().find_map(|(other, _)| clash(other, &destination, container)) {
            return Err(error);
        }
        placed.push((destination, volume));
    }
    // Stable: of two on one level the pod's order stands.
    placed.sort_by_key(|(destination, _)| destination.depth());
    let mut plan = Plan::default();
    for (destination, volume) in &placed {
        plan.add(destination, volume, container);
    }
    passing::check_places(&plan.steps, container.root.style)?;
    Ok(plan)
}

fn admit(volume: &Volume<'_>, container: &Container<'_>) -> Result<Destination, MountError> {
    let path = || volume.container_path.to_owned();
    for named in [volume.host_path, volume.container_path] {
        if pipe::is_pipe(named) {
            return Err(MountError::Pipe { path: named.to_owned() });
        }
    }
    if volume.source == Source::Socket {
        return Err(MountError::Socket { path: path(), host_path: volume.host_path.to_owned() });
    }
    if volume.host_path.is_empty() {
        return Err(MountError::NoSource { path: path() });
    }
    passing::check(volume, container)?;
    let destination = Destination::parse(volume.container_path, container.root.style)?;
    match container.mode {
        Mode::Bind => protected(&destination, container)
            .map_or(Ok(destination), |reason| Err(MountError::Protected { path: path(), reason })),
        Mode::Symlink | Mode::Host if destination.depth() == 0 => {
            Err(MountError::Protected { path: path(), reason: "it would take the place of the image" })
        }
        Mode::Symlink | Mode::Host => Ok(destination),
    }
}

fn protected(destination: &Destination, container: &Container<'_>) -> Option<&'static str> {
    let at = |path: &str| Destination::parse(path, container.root.style).ok();
    if at(container.image).is_some_and(|image| image.is_in(destination)) {
        return Some("it would take the place of the image");
    }
    let covered = |path: &str| at(path).is_some_and(|path| path.is(destination));
    let list = PROTECTED.iter().filter(|(style, ..)| *style == container.root.style);
    list.into_iter().find(|(_, path, _)| covered(path)).map(|(.., reason)| *reason)
}

fn clash(first: &Destination, second: &Destination, container: &Container<'_>) -> Option<MountError> {
    if first.is(second) {
        return Some(MountError::Twice { path: second.path() });
    }
    let one_place = container.mode != Mode::Bind && first.collides_without_drive(second);
    one_place.then(|| MountError::Collide {
        first: first.path(),
        second: second.path(),
        path: second.below(container.image),
    })
}

// === impl Plan ===

impl Plan {
    fn add(&mut self, destination: &Destination, volume: &Volume<'_>, container: &Container<'_>) {
        let (source, file) = (container.root.place(volume.host_path), volume.source == Source::File);
        let (readonly, shallow, propagation) = (volume.readonly, volume.shallow, volume.propagation);
        if volume.source == Source::Missing {
            self.steps.push(Step::MakeSource { path: source.clone() });
        }
        let in_image = destination.below(container.image);
        if container.mode == Mode::Bind {
            let target = destination.path();
            let bind = |source, target| Step::Bind { source, target, readonly, shallow, propagation, file };
            self.steps.push(bind(source.clone(), target));
            // The same below the image, where manifests made for symlink mode look.
            self.steps.push(bind(source, in_image));
            return;
        }
        if readonly {
            self.warnings
                .push(format!("{in_image} is a link, so it cannot be made read-only as the pod asks"));
        }
        self.steps.push(Step::Link { at: in_image, to: source, file });
    }
}

#[cfg(test)]
mod tests;
