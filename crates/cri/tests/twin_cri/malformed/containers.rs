//! Containers that are asked for wrongly.

use cri::api::*;
use tonic::Status;

use crate::world::creation;

use super::{Scene, done, table};

fn metadata(config: &mut ContainerConfig) -> &mut ContainerMetadata {
    config.metadata.get_or_insert_default()
}

fn image(config: &mut ContainerConfig) -> &mut ImageSpec {
    config.image.get_or_insert_default()
}

fn variable(config: &mut ContainerConfig, key: &str, value: &[u8]) {
    config.envs.push(KeyValue { key: key.to_owned(), value: value.to_vec() });
}

fn context(config: &mut ContainerConfig) -> &mut LinuxContainerSecurityContext {
    config.linux.get_or_insert_default().security_context.get_or_insert_default()
}

fn resources(config: &mut ContainerConfig) -> &mut LinuxContainerResources {
    config.linux.get_or_insert_default().resources.get_or_insert_default()
}

fn windows(config: &mut ContainerConfig) -> &mut WindowsContainerResources {
    config.windows.get_or_insert_default().resources.get_or_insert_default()
}

fn id(value: i64) -> Option<Int64Value> {
    Some(Int64Value { value })
}

/// A good container, made wrong.
pub(super) async fn create(scene: &Scene<'_>, change: fn(&mut ContainerConfig)) -> Result<(), Status> {
    let mut config = scene.world.config("another", &["pause"]);
    change(&mut config);
    done(scene.world.runtime().create_container(creation(&scene.pod, config))).await
}

table! { CREATE_CONTAINER = "CreateContainer": create, |config|
    "without metadata", InvalidArgument, config.metadata = None;
    "without a name", InvalidArgument, config.metadata = Some(ContainerMetadata::default());
    "with a slash in its name", InvalidArgument, metadata(config).name = "../x".into();
    "with a name too long", InvalidArgument, metadata(config).name = "x".repeat(254);
    "without an image", InvalidArgument, config.image = None;
    "with an empty image", InvalidArgument, config.image = Some(ImageSpec::default());
    "with an image that is not here", NotFound, image(config).image = "example.com/none:1".into();
    "with a name of an image that is none", NotFound, image(config).image = "EXAMPLE/../x".into();
    "with an image's name far too long", InvalidArgument, image(config).image = "x".repeat(2000);
    "with an absolute log path", InvalidArgument, config.log_path = "/etc/passwd".into();
    "with a log path that climbs", InvalidArgument, config.log_path = "../../x.log".into();
    "with a character 0 in the log path", InvalidArgument, config.log_path = "x\0.log".into();
    "with a character 0 in an argument", InvalidArgument, config.args = vec!["a\0b".into()];
    "with a character 0 in the command", InvalidArgument, config.command = vec!["\0".into()];
    "with a character 0 in the working directory", InvalidArgument, config.working_dir = "/\0".into();
    "with a variable without a name", InvalidArgument, variable(config, "", b"x");
    "with = in a variable's name", InvalidArgument, variable(config, "A=B", b"x");
    "with a variable that is no text", InvalidArgument, variable(config, "A", b"\xff\xfe");
    "with a character 0 in a variable", InvalidArgument, variable(config, "A", b"x\0y");
    "with a device at another path", Unimplemented,
        config.devices.push(Device {
            container_path: "/dev/a".into(),
            host_path: "/dev/null".into(),
            permissions: "r".into(),
        });
    "with a device by CDI", Unimplemented,
        config.cdi_devices.push(CdiDevice { name: "vendor.com/gpu=0".into() });
    "with a stop signal of its own", Unimplemented, config.stop_signal = Signal::Sigusr1.into();
    "with a stop signal nobody knows", InvalidArgument, config.stop_signal = 99;
    "with a negative user", InvalidArgument, context(config).run_as_user = id(-1);
    "with a user too large", InvalidArgument, context(config).run_as_user = id(1 << 32);
    "with two users", InvalidArgument,
        { context(config).run_as_user = id(1); context(config).run_as_username = "daemon".into() };
    "with a group and no user", InvalidArgument, context(config).run_as_group = id(1);
    "with a negative group", InvalidArgument,
        { context(config).run_as_user = id(1); context(config).run_as_group = id(-1) };
    "with a further group too large", InvalidArgument, context(config).supplemental_groups = vec![i64::MAX];
    "with negative memory", InvalidArgument, resources(config).memory_limit_in_bytes = -1;
    "with negative shares", InvalidArgument, resources(config).cpu_shares = -1;
    "with a negative period", InvalidArgument, resources(config).cpu_period = -1;
    "with a period too long", InvalidArgument, resources(config).cpu_period = 2_000_000;
    "with a quota below none", InvalidArgument, resources(config).cpu_quota = -2;
    "with swap below none", InvalidArgument, resources(config).memory_swap_limit_in_bytes = -2;
    "with huge pages", Unimplemented,
        resources(config).hugepage_limits = vec![HugepageLimit { page_size: "2MB".into(), limit: 1 }];
    "with a Windows cap that is too much", InvalidArgument, windows(config).cpu_maximum = 10_001;
    "with a negative Windows cap", InvalidArgument, windows(config).cpu_maximum = -1;
    "with Windows shares that are too many", InvalidArgument, windows(config).cpu_shares = 10_001;
    "with a Windows cap and shares", InvalidArgument,
        { windows(config).cpu_maximum = 5; windows(config).cpu_shares = 5 };
    "with negative Windows memory", InvalidArgument, windows(config).memory_limit_in_bytes = -1;
    "with a negative scratch space", InvalidArgument, windows(config).rootfs_size_in_bytes = -1;
    "bound to processors", Unimplemented,
        windows(config).affinity_cpus = vec![WindowsCpuGroupAffinity { cpu_mask: 1, cpu_group: 0 }];
}
