//! Mounts of a container.

use os::view::Propagation;
use plan::Style;
use runtime::config::MountConfig;

use super::{WireError, text};
use crate::api::{Mount, MountPropagation};

pub(super) fn mount(mount: &Mount, style: Style) -> Result<MountConfig, WireError> {
    let at = |field: &str| format!("config.mounts[{:?}].{field}", mount.container_path);
    if mount.container_path.is_empty() {
        return Err(WireError::Missing("config.mounts[].container_path"));
    }
    if mount.image.as_ref().is_some_and(|image| !image.image.is_empty()) {
        return Err(WireError::unsupported(&at("image"), "images as volumes are not supported yet"));
    }
    if mount.host_path.is_empty() {
        return Err(WireError::Missing("config.mounts[].host_path"));
    }
    if !(mount.uid_mappings.is_empty() && mount.gid_mappings.is_empty()) {
        return Err(WireError::unsupported(
            &at("uidMappings"),
            "a HostProcess container has the host's users",
        ));
    }
    if !mount.mount_options.is_empty() {
        return Err(WireError::unsupported(&at("mount_options"), "options of mounts are not supported"));
    }
    let propagation = propagation(mount, &at("propagation"), style)?;
    if mount.recursive_read_only && !mount.readonly {
        return Err(WireError::invalid(&at("recursive_read_only"), true, "readonly as well"));
    }
    if mount.recursive_read_only && !propagation.is_private() {
        let wanted = "propagation None as well: what is mounted later is not read-only";
        return Err(WireError::invalid(&at("recursive_read_only"), true, wanted));
    }
    Ok(MountConfig {
        host_path: host_path(&at("host_path"), &mount.host_path, style)?,
        container_path: text::without_nul(&at("container_path"), &mount.container_path)?,
        readonly: mount.readonly,
        shallow: mount.readonly && !mount.recursive_read_only,
        propagation,
    })
}

/// What is mounted later on one side, the other sees as far as was asked for.
fn propagation(mount: &Mount, at: &str, style: Style) -> Result<Propagation, WireError> {
    match MountPropagation::try_from(mount.propagation) {
        Ok(MountPropagation::PropagationPrivate) => Ok(Propagation::Private),
        Ok(_) if style == Style::Windows => {
            Err(WireError::unsupported(at, "Windows passes on no mounts that come later: wanted None"))
        }
        Ok(MountPropagation::PropagationHostToContainer) => Ok(Propagation::Slave),
        Ok(MountPropagation::PropagationBidirectional) => Ok(Propagation::Shared),
        Err(_) => Err(WireError::invalid(at, mount.propagation, "a MountPropagation, 0 to 2")),
    }
}

/// A device or pipe of Windows has a name of its own kind; what cannot be mounted is refused by the plan, which says
/// what to do instead.
fn host_path(field: &str, path: &str, style: Style) -> Result<String, WireError> {
    text::host_path(field, path, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(propagation: MountPropagation, readonly: bool, recursive_read_only: bool) -> Mount {
        let (container_path, host_path) = ("/data".into(), "/host".into());
        let propagation = propagation.into();
        Mount { container_path, host_path, readonly, propagation, recursive_read_only, ..Mount::default() }
    }

    #[test]
    fn what_a_kubelet_asks_of_a_mount_is_understood_or_refused_by_name() {
        use MountPropagation::{PropagationBidirectional, PropagationHostToContainer, PropagationPrivate};
        use Propagation::{Private, Shared, Slave};
        for (of, readonly, recursive, expected) in [
            (PropagationPrivate, false, false, Ok((false, false, Private))),
            (PropagationPrivate, true, false, Ok((true, true, Private))),
            (PropagationPrivate, true, true, Ok((true, false, Private))),
            (PropagationHostToContainer, true, false, Ok((true, true, Slave))),
            (PropagationBidirectional, false, false, Ok((false, false, Shared))),
            (PropagationPrivate, false, true, Err("readonly as well")),
            (PropagationHostToContainer, true, true, Err("propagation None as well")),
            (PropagationBidirectional, true, true, Err("propagation None as well")),
        ] {
            let read = mount(&asked(of, readonly, recursive), Style::Unix);
            match (read, expected) {
                (Ok(read), Ok(expected)) => {
                    assert_eq!((read.readonly, read.shallow, read.propagation), expected, "{of:?}");
                }
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (read, expected) => panic!("{of:?}: {read:?}, wanted {expected:?}"),
            }
        }
    }

    #[test]
    fn windows_passes_nothing_on_and_says_so() {
        for of in [MountPropagation::PropagationHostToContainer, MountPropagation::PropagationBidirectional] {
            let asked = Mount { host_path: "C:\\v".into(), ..asked(of, false, false) };
            let error = mount(&asked, Style::Windows).unwrap_err();
            assert!(matches!(error, WireError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("Windows"), "{error}");
        }
    }
}
