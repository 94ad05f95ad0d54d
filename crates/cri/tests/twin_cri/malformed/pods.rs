//! Pods that are asked for wrongly.

use cri::api::*;
use tonic::Status;

use super::{Scene, done, table};

fn metadata(config: &mut PodSandboxConfig) -> &mut PodSandboxMetadata {
    config.metadata.get_or_insert_default()
}

fn linux(config: &mut PodSandboxConfig) -> &mut LinuxPodSandboxConfig {
    config.linux.get_or_insert_default()
}

fn namespaces(config: &mut PodSandboxConfig) -> &mut NamespaceOption {
    linux(config).security_context.get_or_insert_default().namespace_options.get_or_insert_default()
}

fn port(config: &mut PodSandboxConfig) -> &mut PortMapping {
    config.port_mappings.push(PortMapping::default());
    config.port_mappings.last_mut().expect("just pushed")
}

fn annotate(config: &mut PodSandboxConfig, name: &str, value: &str) {
    config.annotations.insert(name.to_owned(), value.to_owned());
}

fn field() -> WindowsPodSandboxConfig {
    let context = WindowsSandboxSecurityContext { host_process: true, ..Default::default() };
    WindowsPodSandboxConfig { security_context: Some(context) }
}

/// A good pod.
fn asked(scene: &Scene<'_>, handler: &str) -> RunPodSandboxRequest {
    let config = Some(scene.world.pod_config("another"));
    RunPodSandboxRequest { config, runtime_handler: handler.to_owned() }
}

/// A good pod, made wrong.
async fn run(scene: &Scene<'_>, change: fn(&mut PodSandboxConfig)) -> Result<(), Status> {
    let mut request = asked(scene, "hostprocess");
    request.config.as_mut().map(change);
    done(scene.world.runtime().run_pod_sandbox(request)).await
}

table! { RUN_POD_SANDBOX = "RunPodSandbox": runtime.run_pod_sandbox(RunPodSandboxRequest), |s, it|
    "without a config", InvalidArgument, {};
    "with an unknown handler", InvalidArgument, *it = asked(s, "runc");
    "with a handler in capitals", InvalidArgument, *it = asked(s, "HostProcess");
    "with process isolation", Unimplemented, *it = asked(s, "process");
    "with process isolation by its Windows name", Unimplemented, *it = asked(s, "runhcs-wcow-process");
    "with Hyper-V", Unimplemented, *it = asked(s, "runhcs-wcow-hypervisor");
    "with Hyper-V of a build", Unimplemented, *it = asked(s, "runhcs-wcow-hypervisor-17763");
    "with Hyper-V and the HostProcess field", Unimplemented,
        {
            *it = asked(s, "runhcs-wcow-hypervisor");
            it.config.get_or_insert_default().windows = Some(field())
        };
}

table! { RUN_CHANGED = "RunPodSandbox": run, |config|
    "without metadata", InvalidArgument, config.metadata = None;
    "without metadata.name", InvalidArgument, metadata(config).name.clear();
    "with a slash in metadata.name", InvalidArgument, metadata(config).name = "a/../b".into();
    "with metadata.name too long", InvalidArgument, metadata(config).name = "a".repeat(254);
    "without metadata.namespace", InvalidArgument, metadata(config).namespace.clear();
    "with a slash in metadata.namespace", InvalidArgument, metadata(config).namespace = "a/../b".into();
    "with metadata.namespace too long", InvalidArgument, metadata(config).namespace = "a".repeat(254);
    "without metadata.uid", InvalidArgument, metadata(config).uid.clear();
    "with a slash in metadata.uid", InvalidArgument, metadata(config).uid = "a/../b".into();
    "with metadata.uid too long", InvalidArgument, metadata(config).uid = "a".repeat(254);
    "with a control character in metadata.name", InvalidArgument, metadata(config).name = "a\nb".into();
    "with a relative log directory", InvalidArgument, config.log_directory = "logs".into();
    "with a log directory that climbs", InvalidArgument, config.log_directory = "/var/../etc".into();
    "with a character 0 in the log directory", InvalidArgument, config.log_directory = "/var/\0".into();
    "with a character 0 in the hostname", InvalidArgument, config.hostname = "\0".into();
    "with the alpha annotation", PermissionDenied, annotate(config, cri::wire::ALPHA, "true");
    "with the alpha annotation in another spelling of yes", PermissionDenied,
        annotate(config, cri::wire::ALPHA, "TRUE");
    "with a mode nobody knows", InvalidArgument, annotate(config, "porthole.dev/hostprocess-mode", "magic");
    "with kernel settings", Unimplemented,
        linux(config).sysctls = [("kernel.x".to_owned(), "1".to_owned())].into();
    "with an unknown namespace mode for network", InvalidArgument, namespaces(config).network = 9;
    "with an unknown namespace mode for pid", InvalidArgument, namespaces(config).pid = 9;
    "with an unknown namespace mode for ipc", InvalidArgument, namespaces(config).ipc = 9;
    "with the network of a container", InvalidArgument, namespaces(config).network = 3;
    "with a user namespace", Unimplemented,
        namespaces(config).userns_options = Some(UserNamespace::default());
    "with a port too large", InvalidArgument, port(config).container_port = 65_536;
    "with a negative port", InvalidArgument, port(config).container_port = -1;
    "with a host port too large", InvalidArgument, port(config).host_port = 70_000;
    "with an unknown protocol", InvalidArgument, port(config).protocol = 7;
    "with a host address that is none", InvalidArgument, port(config).host_ip = "x".into();
    "again with other labels", AlreadyExists,
        {
            metadata(config).name = "web".into();
            metadata(config).uid = "web-uid".into();
            config.labels.clear()
        };
}
