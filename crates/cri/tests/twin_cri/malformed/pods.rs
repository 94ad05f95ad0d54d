//! Pods that are asked for wrongly.

use cri::api::*;
use tonic::{Code, Status};

use super::{Row, Scene, done};

fn metadata(config: &mut PodSandboxConfig) -> &mut PodSandboxMetadata {
    config.metadata.get_or_insert_default()
}

fn linux(config: &mut PodSandboxConfig) -> &mut LinuxPodSandboxConfig {
    config.linux.get_or_insert_default()
}

fn namespaces(config: &mut PodSandboxConfig) -> &mut NamespaceOption {
    linux(config).security_context.get_or_insert_default().namespace_options.get_or_insert_default()
}

fn annotate(config: &mut PodSandboxConfig, name: &str, value: &str) {
    config.annotations.insert(name.to_owned(), value.to_owned());
}

fn field() -> WindowsPodSandboxConfig {
    let context = WindowsSandboxSecurityContext { host_process: true, ..Default::default() };
    WindowsPodSandboxConfig { security_context: Some(context) }
}

async fn done_with(scene: &Scene<'_>, request: RunPodSandboxRequest) -> Result<(), Status> {
    done(scene.world.runtime().run_pod_sandbox(request)).await
}

/// A good pod, made wrong.
async fn run(scene: &Scene<'_>, handler: &str, change: fn(&mut PodSandboxConfig)) -> Result<(), Status> {
    let mut config = scene.world.pod_config("another");
    change(&mut config);
    done_with(scene, RunPodSandboxRequest { config: Some(config), runtime_handler: handler.to_owned() }).await
}

pub(super) const ROWS: &[Row] = &[
    Row {
        what: "RunPodSandbox without a config",
        code: Code::InvalidArgument,
        call: |s| Box::pin(done_with(s, RunPodSandboxRequest::default())),
    },
    Row {
        what: "RunPodSandbox without metadata",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| config.metadata = None)),
    },
    Row {
        what: "RunPodSandbox without metadata.name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).name.clear())),
    },
    Row {
        what: "RunPodSandbox with a slash in metadata.name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).name = "a/../b".into())),
    },
    Row {
        what: "RunPodSandbox with metadata.name too long",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).name = "a".repeat(254))),
    },
    Row {
        what: "RunPodSandbox without metadata.namespace",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).namespace.clear())),
    },
    Row {
        what: "RunPodSandbox with a slash in metadata.namespace",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).namespace = "a/../b".into())),
    },
    Row {
        what: "RunPodSandbox with metadata.namespace too long",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).namespace = "a".repeat(254))),
    },
    Row {
        what: "RunPodSandbox without metadata.uid",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).uid.clear())),
    },
    Row {
        what: "RunPodSandbox with a slash in metadata.uid",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).uid = "a/../b".into())),
    },
    Row {
        what: "RunPodSandbox with metadata.uid too long",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).uid = "a".repeat(254))),
    },
    Row {
        what: "RunPodSandbox with a control character in metadata.name",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| metadata(config).name = "a\nb".into())),
    },
    Row {
        what: "RunPodSandbox with a relative log directory",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| config.log_directory = "logs".into())),
    },
    Row {
        what: "RunPodSandbox with a log directory that climbs",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| config.log_directory = "/var/../etc".into())),
    },
    Row {
        what: "RunPodSandbox with a character 0 in the log directory",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| config.log_directory = "/var/\0".into())),
    },
    Row {
        what: "RunPodSandbox with a character 0 in the hostname",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| config.hostname = "\0".into())),
    },
    Row {
        what: "RunPodSandbox with an unknown handler",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "runc", |_| {})),
    },
    Row {
        what: "RunPodSandbox with a handler in capitals",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "HostProcess", |_| {})),
    },
    Row {
        what: "RunPodSandbox with process isolation",
        code: Code::Unimplemented,
        call: |s| Box::pin(run(s, "process", |_| {})),
    },
    Row {
        what: "RunPodSandbox with process isolation by its Windows name",
        code: Code::Unimplemented,
        call: |s| Box::pin(run(s, "runhcs-wcow-process", |_| {})),
    },
    Row {
        what: "RunPodSandbox with Hyper-V",
        code: Code::Unimplemented,
        call: |s| Box::pin(run(s, "runhcs-wcow-hypervisor", |_| {})),
    },
    Row {
        what: "RunPodSandbox with Hyper-V of a build",
        code: Code::Unimplemented,
        call: |s| Box::pin(run(s, "runhcs-wcow-hypervisor-17763", |_| {})),
    },
    Row {
        what: "RunPodSandbox with Hyper-V and the HostProcess field",
        code: Code::Unimplemented,
        call: |s| Box::pin(run(s, "runhcs-wcow-hypervisor", |config| config.windows = Some(field()))),
    },
    Row {
        what: "RunPodSandbox with the alpha annotation",
        code: Code::PermissionDenied,
        call: |s| Box::pin(run(s, "hostprocess", |config| annotate(config, cri::wire::ALPHA, "true"))),
    },
    Row {
        what: "RunPodSandbox with the alpha annotation in another spelling of yes",
        code: Code::PermissionDenied,
        call: |s| Box::pin(run(s, "hostprocess", |config| annotate(config, cri::wire::ALPHA, "TRUE"))),
    },
    Row {
        what: "RunPodSandbox with a mode nobody knows",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                annotate(config, "porthole.dev/hostprocess-mode", "magic")
            }))
        },
    },
    Row {
        what: "RunPodSandbox with kernel settings",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                linux(config).sysctls = [("kernel.x".to_owned(), "1".to_owned())].into()
            }))
        },
    },
    Row {
        what: "RunPodSandbox with an unknown namespace mode for network",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| namespaces(config).network = 9)),
    },
    Row {
        what: "RunPodSandbox with an unknown namespace mode for pid",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| namespaces(config).pid = 9)),
    },
    Row {
        what: "RunPodSandbox with an unknown namespace mode for ipc",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| namespaces(config).ipc = 9)),
    },
    Row {
        what: "RunPodSandbox with the network of a container",
        code: Code::InvalidArgument,
        call: |s| Box::pin(run(s, "hostprocess", |config| namespaces(config).network = 3)),
    },
    Row {
        what: "RunPodSandbox with a user namespace",
        code: Code::Unimplemented,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                namespaces(config).userns_options = Some(UserNamespace::default())
            }))
        },
    },
    Row {
        what: "RunPodSandbox with a port too large",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                config.port_mappings.push(PortMapping { container_port: 65_536, ..Default::default() })
            }))
        },
    },
    Row {
        what: "RunPodSandbox with a negative port",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                config.port_mappings.push(PortMapping { container_port: -1, ..Default::default() })
            }))
        },
    },
    Row {
        what: "RunPodSandbox with a host port too large",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                config.port_mappings.push(PortMapping { host_port: 70_000, ..Default::default() })
            }))
        },
    },
    Row {
        what: "RunPodSandbox with an unknown protocol",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                config.port_mappings.push(PortMapping { protocol: 7, ..Default::default() })
            }))
        },
    },
    Row {
        what: "RunPodSandbox with a host address that is none",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                config.port_mappings.push(PortMapping { host_ip: "x".into(), ..Default::default() })
            }))
        },
    },
    Row {
        what: "RunPodSandbox again with other labels",
        code: Code::AlreadyExists,
        call: |s| {
            Box::pin(run(s, "hostprocess", |config| {
                metadata(config).name = "web".into();
                metadata(config).uid = "web-uid".into();
                config.labels.clear()
            }))
        },
    },
    Row {
        what: "StopPodSandbox without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().stop_pod_sandbox(StopPodSandboxRequest::default())).await
            })
        },
    },
    Row {
        what: "RemovePodSandbox without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().remove_pod_sandbox(RemovePodSandboxRequest::default())).await
            })
        },
    },
    Row {
        what: "PodSandboxStatus without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().pod_sandbox_status(PodSandboxStatusRequest::default())).await
            })
        },
    },
    Row {
        what: "PodSandboxStats without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().pod_sandbox_stats(PodSandboxStatsRequest::default())).await
            })
        },
    },
    Row {
        what: "UpdatePodSandboxResources without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .update_pod_sandbox_resources(UpdatePodSandboxResourcesRequest::default()),
                )
                .await
            })
        },
    },
    Row {
        what: "PortForward without an id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async { done(s.world.runtime().port_forward(PortForwardRequest::default())).await })
        },
    },
    Row {
        what: "StopPodSandbox with a control character in the id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: "a\nb".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "StopPodSandbox with an id that is far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: "a".repeat(5000) }),
                )
                .await
            })
        },
    },
    Row {
        what: "RemovePodSandbox with a control character in the id",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: "a\nb".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "RemovePodSandbox with an id that is far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: "a".repeat(5000) }),
                )
                .await
            })
        },
    },
    Row {
        what: "PodSandboxStatus of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().pod_sandbox_status(PodSandboxStatusRequest {
                    pod_sandbox_id: "nobody".into(),
                    verbose: true,
                }))
                .await
            })
        },
    },
    Row {
        what: "PodSandboxStatus of a path",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().pod_sandbox_status(PodSandboxStatusRequest {
                    pod_sandbox_id: "../../etc".into(),
                    verbose: true,
                }))
                .await
            })
        },
    },
    Row {
        what: "PodSandboxStats of nobody",
        code: Code::NotFound,
        call: |s| {
            Box::pin(async {
                done(
                    s.world
                        .runtime()
                        .pod_sandbox_stats(PodSandboxStatsRequest { pod_sandbox_id: "nobody".into() }),
                )
                .await
            })
        },
    },
    Row {
        what: "UpdatePodSandboxResources with negative memory",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let resources =
                    Some(LinuxContainerResources { memory_limit_in_bytes: -5, ..Default::default() });
                done(s.world.runtime().update_pod_sandbox_resources(UpdatePodSandboxResourcesRequest {
                    pod_sandbox_id: s.pod.clone(),
                    resources,
                    overhead: None,
                }))
                .await
            })
        },
    },
    Row {
        what: "ListPodSandbox by a state nobody knows",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let state = Some(PodSandboxStateValue { state: 5 });
                done(s.world.runtime().list_pod_sandbox(ListPodSandboxRequest {
                    filter: Some(PodSandboxFilter { state, ..Default::default() }),
                }))
                .await
            })
        },
    },
    Row {
        what: "ListPodSandbox by an id that is far too long",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().list_pod_sandbox(ListPodSandboxRequest {
                    filter: Some(PodSandboxFilter { id: "a".repeat(300), ..Default::default() }),
                }))
                .await
            })
        },
    },
    Row {
        what: "UpdateRuntimeConfig without a config",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                done(s.world.runtime().update_runtime_config(UpdateRuntimeConfigRequest::default())).await
            })
        },
    },
    Row {
        what: "UpdateRuntimeConfig with a range that is none",
        code: Code::InvalidArgument,
        call: |s| {
            Box::pin(async {
                let network_config = Some(NetworkConfig { pod_cidr: "everywhere".into() });
                done(s.world.runtime().update_runtime_config(UpdateRuntimeConfigRequest {
                    runtime_config: Some(RuntimeConfig { network_config }),
                }))
                .await
            })
        },
    },
];
