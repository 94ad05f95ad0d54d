//! Mounts that are asked for wrongly.

use cri::api::*;

use super::containers::create;
use super::table;

/// A good mount, to be made wrong.
fn mount(config: &mut ContainerConfig) -> &mut Mount {
    let good = Mount { container_path: "/mnt/x".into(), host_path: "/tmp".into(), ..Mount::default() };
    config.mounts.push(good);
    config.mounts.last_mut().expect("just pushed")
}

/// One that is read-only with all that is mounted below it, now and later.
fn closed_for_ever(config: &mut ContainerConfig, propagation: MountPropagation) {
    let mount = mount(config);
    (mount.readonly, mount.recursive_read_only) = (true, true);
    mount.propagation = propagation.into();
}

table! { MOUNTS = "CreateContainer": create, |config|
    "with a mount to nowhere", InvalidArgument, mount(config).container_path = String::new();
    "with a mount from nowhere", InvalidArgument, mount(config).host_path = String::new();
    "with a mount from a relative path", InvalidArgument, mount(config).host_path = "tmp".into();
    "with a mount from a path that climbs", InvalidArgument, mount(config).host_path = "/tmp/../etc".into();
    "with a mount to a relative path", InvalidArgument, mount(config).container_path = "mnt".into();
    "with a mount over the whole system", InvalidArgument, mount(config).container_path = "/".into();
    "with a mount over the kernel's files", InvalidArgument, mount(config).container_path = "/proc".into();
    "with a character 0 in a mount", InvalidArgument, mount(config).container_path = "/m\0".into();
    "with two mounts at one path", InvalidArgument, { mount(config); mount(config); };
    "with an unknown propagation", InvalidArgument, mount(config).propagation = 9;
    "with a recursive read-only mount and mounts that come from the host later", InvalidArgument,
        closed_for_ever(config, MountPropagation::PropagationHostToContainer);
    "with a recursive read-only mount and mounts that go to the host", InvalidArgument,
        closed_for_ever(config, MountPropagation::PropagationBidirectional);
    "with a mount that is only read-only below", InvalidArgument, mount(config).recursive_read_only = true;
    "with users mapped in a mount", Unimplemented, mount(config).uid_mappings = vec![IdMapping::default()];
    "with groups mapped in a mount", Unimplemented, mount(config).gid_mappings = vec![IdMapping::default()];
    "with options of a mount", Unimplemented, mount(config).mount_options = vec!["noexec".into()];
    "with an image as a volume", Unimplemented,
        mount(config).image = Some(ImageSpec { image: "x".into(), ..Default::default() });
}
