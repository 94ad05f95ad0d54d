//! Containers that are asked for wrongly.

use cri::api::*;
use tonic::{Code, Status};

use crate::world::creation;

use super::{Row, Scene, done};

fn variable(config: &mut ContainerConfig, key: &str, value: &[u8]) {
    config.envs.push(KeyValue { key: key.to_owned(), value: value.to_vec() });
}

fn mount(config: &mut ContainerConfig, mount: Mount) {
    config.mounts.push(mount);
}

fn good() -> Mount {
    Mount { container_path: "/mnt/x".into(), host_path: "/tmp".into(), ..Mount::default() }
}

fn context(config: &mut ContainerConfig, context: LinuxContainerSecurityContext) {
    config.linux.get_or_insert_default().security_context = Some(context);
}

fn resources(config: &mut ContainerConfig, resources: LinuxContainerResources) {
    config.linux.get_or_insert_default().resources = Some(resources);
}

fn windows(config: &mut ContainerConfig, resources: WindowsContainerResources) {
    config.windows.get_or_insert_default().resources = Some(resources);
}

/// A good container, made wrong.
async fn create(scene: &Scene<'_>, change: fn(&mut ContainerConfig)) -> Result<(), Status> {
    let mut config = scene.world.config("another", &["pause"]);
    change(&mut config);
    done(scene.world.runtime().create_container(creation(&scene.pod, config))).await
}

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "CreateContainer without a config",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().create_container(CreateContainerRequest {
                    pod_sandbox_id: s.pod.clone(),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "CreateContainer without a pod",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().create_container(creation("", s.world.config("x", &[])))).await
            })
        },
    },
    Row {
        what: "CreateContainer in a pod that is not there",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().create_container(creation("nobody", s.world.config("x", &[])))).await
            })
        },
    },
    Row {
        what: "CreateContainer without metadata",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.metadata = None)),
    },
    Row {
        what: "CreateContainer without a name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.metadata = Some(ContainerMetadata::default()))),
    },
    Row {
        what: "CreateContainer with a slash in its name",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                config.metadata = Some(ContainerMetadata { name: "../x".into(), attempt: 0 })
            }))
        },
    },
    Row {
        what: "CreateContainer with a name too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                config.metadata = Some(ContainerMetadata { name: "x".repeat(254), attempt: 0 })
            }))
        },
    },
    Row {
        what: "CreateContainer without an image",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.image = None)),
    },
    Row {
        what: "CreateContainer with an empty image",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.image = Some(ImageSpec::default()))),
    },
    Row {
        what: "CreateContainer with an image that is not here",
        code: Code::NotFound,
        call: |s| {
            Box::pin(create(s, |config| {
                config.image = Some(ImageSpec { image: "example.com/none:1".into(), ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a name of an image that is none",
        code: Code::NotFound,
        call: |s| {
            Box::pin(create(s, |config| {
                config.image = Some(ImageSpec { image: "EXAMPLE/../x".into(), ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with an image's name far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                config.image = Some(ImageSpec { image: "x".repeat(2000), ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with an absolute log path",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.log_path = "/etc/passwd".into())),
    },
    Row {
        what: "CreateContainer with a log path that climbs",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.log_path = "../../x.log".into())),
    },
    Row {
        what: "CreateContainer with a character 0 in the log path",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.log_path = "x\0.log".into())),
    },
    Row {
        what: "CreateContainer with a character 0 in an argument",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.args = vec!["a\0b".into()])),
    },
    Row {
        what: "CreateContainer with a character 0 in the command",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.command = vec!["\0".into()])),
    },
    Row {
        what: "CreateContainer with a character 0 in the working directory",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.working_dir = "/\0".into())),
    },
    Row {
        what: "CreateContainer with a variable without a name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| variable(config, "", b"x"))),
    },
    Row {
        what: "CreateContainer with = in a variable's name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| variable(config, "A=B", b"x"))),
    },
    Row {
        what: "CreateContainer with a variable that is no text",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| variable(config, "A", b"\xff\xfe"))),
    },
    Row {
        what: "CreateContainer with a character 0 in a variable",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| variable(config, "A", b"x\0y"))),
    },
    Row {
        what: "CreateContainer with a mount to nowhere",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| mount(config, Mount { container_path: String::new(), ..good() })))
        },
    },
    Row {
        what: "CreateContainer with a mount from nowhere",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { host_path: String::new(), ..good() }))),
    },
    Row {
        what: "CreateContainer with a mount from a relative path",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { host_path: "tmp".into(), ..good() }))),
    },
    Row {
        what: "CreateContainer with a mount from a path that climbs",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| mount(config, Mount { host_path: "/tmp/../etc".into(), ..good() })))
        },
    },
    Row {
        what: "CreateContainer with a mount to a relative path",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| mount(config, Mount { container_path: "mnt".into(), ..good() })))
        },
    },
    Row {
        what: "CreateContainer with a mount over the whole system",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { container_path: "/".into(), ..good() }))),
    },
    Row {
        what: "CreateContainer with a mount over the kernel's files",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| mount(config, Mount { container_path: "/proc".into(), ..good() })))
        },
    },
    Row {
        what: "CreateContainer with a character 0 in a mount",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| mount(config, Mount { container_path: "/m\0".into(), ..good() })))
        },
    },
    Row {
        what: "CreateContainer with two mounts at one path",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                mount(config, good());
                mount(config, good())
            }))
        },
    },
    Row {
        what: "CreateContainer with an unknown propagation",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { propagation: 9, ..good() }))),
    },
    Row {
        what: "CreateContainer with mounts that come from the host later",
        code: Code::Unimplemented,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { propagation: 1, ..good() }))),
    },
    Row {
        what: "CreateContainer with mounts that go to the host",
        code: Code::Unimplemented,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { propagation: 2, ..good() }))),
    },
    Row {
        what: "CreateContainer with a mount that is only read-only below",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| mount(config, Mount { recursive_read_only: true, ..good() }))),
    },
    Row {
        what: "CreateContainer with users mapped in a mount",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                mount(config, Mount { uid_mappings: vec![IdMapping::default()], ..good() })
            }))
        },
    },
    Row {
        what: "CreateContainer with groups mapped in a mount",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                mount(config, Mount { gid_mappings: vec![IdMapping::default()], ..good() })
            }))
        },
    },
    Row {
        what: "CreateContainer with options of a mount",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                mount(config, Mount { mount_options: vec!["noexec".into()], ..good() })
            }))
        },
    },
    Row {
        what: "CreateContainer with an image as a volume",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                mount(
                    config,
                    Mount { image: Some(ImageSpec { image: "x".into(), ..Default::default() }), ..good() },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a device at another path",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                config.devices.push(Device {
                    container_path: "/dev/a".into(),
                    host_path: "/dev/null".into(),
                    permissions: "r".into(),
                })
            }))
        },
    },
    Row {
        what: "CreateContainer with a device by CDI",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                config.cdi_devices.push(CdiDevice { name: "vendor.com/gpu=0".into() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a stop signal of its own",
        code: Code::Unimplemented,
        call: |s| Box::pin(create(s, |config| config.stop_signal = Signal::Sigusr1.into())),
    },
    Row {
        what: "CreateContainer with a stop signal nobody knows",
        code: Code::InvalidArgument,
        call: |s| Box::pin(create(s, |config| config.stop_signal = 99)),
    },
    Row {
        what: "CreateContainer with a negative user",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        run_as_user: Some(Int64Value { value: -1 }),
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a user too large",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        run_as_user: Some(Int64Value { value: 1 << 32 }),
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with two users",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        run_as_user: Some(Int64Value { value: 1 }),
                        run_as_username: "daemon".into(),
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a group and no user",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        run_as_group: Some(Int64Value { value: 1 }),
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a negative group",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        run_as_user: Some(Int64Value { value: 1 }),
                        run_as_group: Some(Int64Value { value: -1 }),
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a further group too large",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                context(
                    config,
                    LinuxContainerSecurityContext {
                        supplemental_groups: vec![i64::MAX],
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with negative memory",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(config, LinuxContainerResources { memory_limit_in_bytes: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with negative shares",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(config, LinuxContainerResources { cpu_shares: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a negative period",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(config, LinuxContainerResources { cpu_period: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a period too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(config, LinuxContainerResources { cpu_period: 2_000_000, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a quota below none",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(config, LinuxContainerResources { cpu_quota: -2, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with swap below none",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(
                    config,
                    LinuxContainerResources { memory_swap_limit_in_bytes: -2, ..Default::default() },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with huge pages",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                resources(
                    config,
                    LinuxContainerResources {
                        hugepage_limits: vec![HugepageLimit { page_size: "2MB".into(), limit: 1 }],
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with a Windows cap that is too much",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(config, WindowsContainerResources { cpu_maximum: 10_001, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a negative Windows cap",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(config, WindowsContainerResources { cpu_maximum: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with Windows shares that are too many",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(config, WindowsContainerResources { cpu_shares: 10_001, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a Windows cap and shares",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(
                    config,
                    WindowsContainerResources { cpu_maximum: 5, cpu_shares: 5, ..Default::default() },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer with negative Windows memory",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(config, WindowsContainerResources { memory_limit_in_bytes: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer with a negative scratch space",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(config, WindowsContainerResources { rootfs_size_in_bytes: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "CreateContainer bound to processors",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(create(s, |config| {
                windows(
                    config,
                    WindowsContainerResources {
                        affinity_cpus: vec![WindowsCpuGroupAffinity { cpu_mask: 1, cpu_group: 0 }],
                        ..Default::default()
                    },
                )
            }))
        },
    },
    Row {
        what: "CreateContainer again with other arguments",
        code: Code::AlreadyExists,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .create_container(creation(&s.pod, s.world.config("running", &["exit", "0"]))),
                )
                .await
            })
        },
    },
    Row {
        what: "StartContainer without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().start_container(StartContainerRequest::default())).await
            })
        },
    },
    Row {
        what: "StopContainer without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async { done(s.world.runtime().stop_container(StopContainerRequest::default())).await })
        },
    },
    Row {
        what: "RemoveContainer without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().remove_container(RemoveContainerRequest::default())).await
            })
        },
    },
    Row {
        what: "ContainerStatus without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().container_status(ContainerStatusRequest::default())).await
            })
        },
    },
    Row {
        what: "ContainerStats without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().container_stats(ContainerStatsRequest::default())).await
            })
        },
    },
    Row {
        what: "ReopenContainerLog without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().reopen_container_log(ReopenContainerLogRequest::default())).await
            })
        },
    },
    Row {
        what: "UpdateContainerResources without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().update_container_resources(UpdateContainerResourcesRequest::default()))
                    .await
            })
        },
    },
    Row {
        what: "StartContainer of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .start_container(StartContainerRequest { container_id: "nobody".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ContainerStatus of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().container_status(ContainerStatusRequest {
                    container_id: "nobody".into(),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "ContainerStats of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .container_stats(ContainerStatsRequest { container_id: "nobody".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ReopenContainerLog of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .reopen_container_log(ReopenContainerLogRequest { container_id: "nobody".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "StartContainer of what runs",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .start_container(StartContainerRequest { container_id: s.running.clone() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ReopenContainerLog of what does not run",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .reopen_container_log(ReopenContainerLogRequest { container_id: s.created.clone() }),
                )
                .await
            })
        },
    },
    Row {
        what: "ContainerStats of what does not run",
        code: Code::FailedPrecondition,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .container_stats(ContainerStatsRequest { container_id: s.created.clone() }),
                )
                .await
            })
        },
    },
    Row {
        what: "StopContainer with a negative time",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world.runtime().stop_container(StopContainerRequest {
                        container_id: s.running.clone(),
                        timeout: -1,
                    }),
                )
                .await
            })
        },
    },
    Row {
        what: "UpdateContainerResources with nothing",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().update_container_resources(UpdateContainerResourcesRequest {
                    container_id: s.running.clone(),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "UpdateContainerResources of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().update_container_resources(UpdateContainerResourcesRequest {
                    container_id: "nobody".into(),
                    linux: Some(LinuxContainerResources::default()),
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "UpdateContainerResources with negative memory",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let linux = Some(LinuxContainerResources { memory_limit_in_bytes: -7, ..Default::default() });
                done(s.world.runtime().update_container_resources(UpdateContainerResourcesRequest {
                    container_id: s.running.clone(),
                    linux,
                    ..Default::default()
                }))
                .await
            })
        },
    },
    Row {
        what: "ListContainers by a state nobody knows",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let state = Some(ContainerStateValue { state: 44 });
                done(s.world.runtime().list_containers(ListContainersRequest {
                    filter: Some(ContainerFilter { state, ..Default::default() }),
                }))
                .await
            })
        },
    },
    Row {
        what: "ListContainerStats by an id that is far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().list_container_stats(ListContainerStatsRequest {
                    filter: Some(ContainerStatsFilter { id: "a".repeat(300), ..Default::default() }),
                }))
                .await
            })
        },
    },
];
