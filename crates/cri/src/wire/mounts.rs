//! Mounts of a container.

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
    propagation(mount, &at("propagation"))?;
    if mount.recursive_read_only && !mount.readonly {
        return Err(WireError::invalid(&at("recursive_read_only"), true, "readonly as well"));
    }
    Ok(MountConfig {
        host_path: host_path(&at("host_path"), &mount.host_path, style)?,
        container_path: text::without_nul(&at("container_path"), &mount.container_path)?,
        readonly: mount.readonly,
    })
}

/// A container's mounts are its own: what is mounted later, on either side, the other does not see.
fn propagation(mount: &Mount, at: &str) -> Result<(), WireError> {
    match MountPropagation::try_from(mount.propagation) {
        Ok(MountPropagation::PropagationPrivate) => Ok(()),
        Ok(_) => Err(WireError::unsupported(at, "mounts that come later are not passed on: wanted None")),
        Err(_) => Err(WireError::invalid(at, mount.propagation, "a MountPropagation, 0 to 2")),
    }
}

/// A device or pipe of Windows has a name of its own kind; what cannot be mounted is refused by the plan, which says
/// what to do instead.
fn host_path(field: &str, path: &str, style: Style) -> Result<String, WireError> {
    text::host_path(field, path, style)
}
