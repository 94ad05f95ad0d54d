//! Mounts that are made in a volume while the container runs: who sees them, and where that cannot be.

use super::{Container, Mode, MountError, Step, Volume};
use crate::Style;
use crate::destination::Destination;

/// What is passed on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Propagation {
    /// Each side has its own.
    #[default]
    Private,
    /// The container sees what the host mounts.
    Slave,
    /// And the host what the container mounts.
    Shared,
}

/// What the mount allows that a volume's source is on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Peers {
    #[default]
    None,
    Hears,
    Shares,
}

pub(super) fn check(volume: &Volume<'_>, container: &Container<'_>) -> Result<(), MountError> {
    let path = || volume.container_path.to_owned();
    let wanted = match (volume.propagation, volume.peers) {
        (Propagation::Private, _) => return Ok(()),
        _ if container.mode != Mode::Bind || container.root.style != Style::Unix => {
            return Err(MountError::NotPassedOn { path: path() });
        }
        (Propagation::Slave, Peers::Hears | Peers::Shares) | (Propagation::Shared, Peers::Shares) => {
            return Ok(());
        }
        (Propagation::Slave, Peers::None) => "shared or slave",
        (Propagation::Shared, _) => "shared",
    };
    Err(MountError::Unshared { path: path(), host_path: volume.host_path.to_owned(), wanted })
}

/// What is bound in something that passes mounts on would be bound on the host too, and outlive the container there.
pub(super) fn check_places(steps: &[Step], style: Style) -> Result<(), MountError> {
    let places = steps.iter().filter_map(|step| match step {
        Step::Bind { target, propagation, .. } => {
            Some((Destination::parse(target, style).ok()?, *propagation == Propagation::Shared))
        }
        _ => None,
    });
    let places: Vec<(Destination, bool)> = places.collect();
    for (outer, _) in places.iter().filter(|(_, shared)| *shared) {
        if let Some((inner, _)) = places.iter().find(|(inner, _)| inner.is_in(outer) && !inner.is(outer)) {
            return Err(MountError::InShared { path: inner.path(), outer: outer.path() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Source, plan};
    use super::*;
    use crate::drive::Root;

    const UNIX: Container<'_> =
        Container { root: Root { style: Style::Unix, drive: "" }, mode: Mode::Bind, image: "/hpc" };

    fn passing(propagation: Propagation, peers: Peers) -> Volume<'static> {
        let (host_path, container_path) = ("/host", "/data");
        let source = Source::Directory;
        Volume { host_path, container_path, readonly: false, shallow: false, source, propagation, peers }
    }

    #[test]
    fn a_volume_that_passes_mounts_on_wants_a_mount_that_does() {
        use Propagation::{Private, Shared, Slave};
        for (propagation, peers, wanted) in [
            (Private, Peers::None, None),
            (Private, Peers::Shares, None),
            (Slave, Peers::None, Some("shared or slave")),
            (Slave, Peers::Hears, None),
            (Slave, Peers::Shares, None),
            (Shared, Peers::None, Some("shared")),
            (Shared, Peers::Hears, Some("shared")),
            (Shared, Peers::Shares, None),
        ] {
            let expected = match wanted {
                None => Ok(propagation),
                Some(wanted) => {
                    Err(MountError::Unshared { path: "/data".into(), host_path: "/host".into(), wanted })
                }
            };
            let planned = plan(&[passing(propagation, peers)], &UNIX);
            let found = planned.map(|plan| match plan.steps.as_slice() {
                [Step::Bind { propagation: one, .. }, Step::Bind { propagation: two, .. }] if one == two => {
                    *one
                }
                other => panic!("{other:?}"),
            });
            assert_eq!(found, expected, "{propagation:?} {peers:?}");
        }
    }

    #[test]
    fn links_and_windows_pass_nothing_on() {
        let windows = Container {
            root: Root { style: Style::Windows, drive: "C:" },
            mode: Mode::Bind,
            image: "C:\\hpc",
        };
        for container in
            [Container { mode: Mode::Symlink, ..UNIX }, Container { mode: Mode::Host, ..UNIX }, windows]
        {
            for propagation in [Propagation::Slave, Propagation::Shared] {
                let error = plan(&[passing(propagation, Peers::Shares)], &container).unwrap_err();
                assert_eq!(error, MountError::NotPassedOn { path: "/data".into() }, "{container:?}");
            }
        }
    }

    #[test]
    fn nothing_is_mounted_in_what_would_pass_it_on_to_the_host() {
        let shared = passing(Propagation::Shared, Peers::Shares);
        let at = |container_path| Volume { container_path, ..passing(Propagation::Private, Peers::None) };
        for (inner, path) in [("/data/sub", "/data/sub"), ("/hpc/data/x", "/hpc/data/x")] {
            for volumes in [[shared, at(inner)], [at(inner), shared]] {
                let error = plan(&volumes, &UNIX).unwrap_err();
                assert!(
                    matches!(&error, MountError::InShared { path: found, .. } if found == path),
                    "{error}"
                );
            }
        }
        plan(&[shared, at("/datasub")], &UNIX).unwrap();
        let slave = passing(Propagation::Slave, Peers::Shares);
        plan(&[slave, at("/data/sub")], &UNIX).unwrap();
    }
}
