//! A pod on the host's network, as a kubelet makes it.

use std::path::Path;
use std::time::Instant;

use cri::api::runtime_service_client::RuntimeServiceClient;
use cri::api::*;
use tonic::transport::Channel;

use crate::{BUSYBOX, Outcome, milliseconds};

const LOGS: &str = "/var/log/pods";

/// What making one takes.
#[derive(Debug, Clone)]
pub(crate) struct Maker {
    pub(crate) client: RuntimeServiceClient<Channel>,
    pub(crate) handler: String,
    pub(crate) image: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) pod: String,
    pub(crate) container: String,
}

pub(crate) fn image(name: &str) -> ImageSpec {
    ImageSpec { image: name.to_owned(), ..ImageSpec::default() }
}

// === impl Maker ===

impl Maker {
    /// The three calls and how many milliseconds they took together.
    pub(crate) async fn start(&self, name: &str, words: &[&str]) -> Outcome<(Running, f64)> {
        let (mut client, pod_config) = (self.client.clone(), pod_config(name));
        // A kubelet has made it before it asks.
        std::fs::create_dir_all(Path::new(&pod_config.log_directory).join("main"))?;
        let request =
            RunPodSandboxRequest { config: Some(pod_config.clone()), runtime_handler: self.handler.clone() };
        let begun = Instant::now();
        let pod = client.run_pod_sandbox(request).await?.into_inner().pod_sandbox_id;
        let request = CreateContainerRequest {
            pod_sandbox_id: pod.clone(),
            config: Some(self.container_config(words)),
            sandbox_config: Some(pod_config),
        };
        let container = client.create_container(request).await?.into_inner().container_id;
        client.start_container(StartContainerRequest { container_id: container.clone() }).await?;
        Ok((Running { pod, container }, milliseconds(begun)))
    }

    fn container_config(&self, words: &[&str]) -> ContainerConfig {
        let security = LinuxContainerSecurityContext {
            namespace_options: Some(namespaces()),
            ..LinuxContainerSecurityContext::default()
        };
        let words = std::iter::once(&BUSYBOX).chain(words);
        ContainerConfig {
            metadata: Some(ContainerMetadata { name: "main".into(), attempt: 0 }),
            image: Some(image(&self.image)),
            command: words.map(|word| (*word).to_owned()).collect(),
            log_path: "main/0.log".into(),
            linux: Some(LinuxContainerConfig {
                security_context: Some(security),
                ..LinuxContainerConfig::default()
            }),
            ..ContainerConfig::default()
        }
    }
}

fn pod_config(name: &str) -> PodSandboxConfig {
    let metadata = PodSandboxMetadata {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        namespace: "default".into(),
        attempt: 0,
    };
    let security = LinuxSandboxSecurityContext {
        namespace_options: Some(namespaces()),
        ..LinuxSandboxSecurityContext::default()
    };
    PodSandboxConfig {
        metadata: Some(metadata),
        log_directory: format!("{LOGS}/{name}"),
        linux: Some(LinuxPodSandboxConfig {
            security_context: Some(security),
            ..LinuxPodSandboxConfig::default()
        }),
        ..PodSandboxConfig::default()
    }
}

/// What a kubelet asks for when a pod wants the host's network and nothing else of it.
fn namespaces() -> NamespaceOption {
    NamespaceOption {
        network: NamespaceMode::Node.into(),
        pid: NamespaceMode::Container.into(),
        ipc: NamespaceMode::Pod.into(),
        ..NamespaceOption::default()
    }
}
