//! A sandbox that is asked for, as the runtime's pod.

use plan::Style;
use rules::policy::Policy;
use runtime::PodId;
use runtime::config::PodConfig;
use sha2::{Digest, Sha256};

use super::handler::Handler;
use super::{WireError, annotation, text};
use crate::api::{self, NamespaceMode, NamespaceOption, Protocol};
use crate::note::PodNote;

/// What the host and its administrator say about pods.
#[derive(Debug, Clone, Copy)]
pub struct PodRules<'a> {
    pub style: Style,
    pub default_handler: &'a Handler,
    /// Who may have HostProcess pods by the alpha annotation or, on Windows, a handler's name; nobody without.
    pub annotation_policy: Option<&'a Policy>,
}

/// The id of a pod's attempt: asking twice is asking for the same.
pub fn pod_id(metadata: &api::PodSandboxMetadata) -> Result<PodId, WireError> {
    let of = [&metadata.namespace, &metadata.name, &metadata.uid].map(|text| text.as_str()).join("\0");
    let digest = Sha256::digest(format!("{of}\0{}", metadata.attempt));
    let id: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    PodId::parse(&id).map_err(|_| WireError::invalid("metadata", metadata, "names that make an id"))
}

pub fn pod(request: api::RunPodSandboxRequest, rules: &PodRules<'_>) -> Result<PodConfig, WireError> {
    let config = request.config.ok_or(WireError::Missing("config"))?;
    let metadata = config.metadata.clone().ok_or(WireError::Missing("config.metadata"))?;
    let handler = Handler::parse(&request.runtime_handler, rules.default_handler)?;
    let name = text::name("config.metadata.name", &metadata.name)?;
    let namespace = text::name("config.metadata.namespace", &metadata.namespace)?;
    let uid = text::name("config.metadata.uid", &metadata.uid)?;
    let namespaces = namespaces(&config)?;
    config.port_mappings.iter().try_for_each(port)?;
    let log_directory = match config.log_directory.as_str() {
        "" => None,
        path => Some(text::host_path("config.log_directory", path, rules.style)?.into()),
    };
    let asked = Asked { handler, by_name: !request.runtime_handler.is_empty() };
    let by_annotation = host_process(&config, &asked, rules)?;
    let note = PodNote { namespaces, resources: None, overhead: None, by_annotation };
    Ok(PodConfig {
        id: pod_id(&metadata)?,
        namespace,
        name,
        uid,
        attempt: metadata.attempt,
        host_process: true,
        host_network: true,
        handler: request.runtime_handler,
        hostname: text::without_nul("config.hostname", &config.hostname)?,
        labels: config.labels,
        annotations: config.annotations,
        log_directory,
        mode: None,
        origin: None,
        note: Some(note.into_value()),
    })
}

/// The handler of a pod, and whether the pod names it itself.
struct Asked {
    handler: Handler,
    by_name: bool,
}

/// Whether a pod is of the kind that can run here, and if only because a policy judges it. On the twin, to which no
/// kubelet says anything about Windows, the handler asks for it; on Windows the field does.
fn host_process(
    config: &api::PodSandboxConfig,
    asked: &Asked,
    rules: &PodRules<'_>,
) -> Result<bool, WireError> {
    let context = config.windows.as_ref().and_then(|windows| windows.security_context.as_ref());
    let field = context.is_some_and(|context| context.host_process);
    if let Handler::Hypervisor(name) = &asked.handler {
        let why = if field {
            "a HostProcess pod runs on the host itself, and this handler puts pods into a virtual machine"
        } else {
            "pods in virtual machines are not supported here yet"
        };
        return Err(WireError::unsupported(&format!("runtime_handler {name}"), why));
    }
    if field {
        return Ok(false);
    }
    if annotation::is_set(&config.annotations) {
        return if rules.annotation_policy.is_some() { Ok(true) } else { Err(annotation::refusal()) };
    }
    match (&asked.handler, rules.style) {
        (Handler::HostProcess, Style::Unix) => Ok(false),
        // Who may name a RuntimeClass may write an annotation as well: the same policy judges both.
        (Handler::HostProcess, Style::Windows) if asked.by_name && rules.annotation_policy.is_some() => {
            Ok(true)
        }
        _ => Err(WireError::unsupported(
            "config.windows.security_context.host_process",
            "not a HostProcess pod: isolated containers are not supported yet",
        )),
    }
}

/// Where a HostProcess pod is, is known: on the host. What was asked is kept, because kubelets compare.
fn namespaces(config: &api::PodSandboxConfig) -> Result<Option<NamespaceOption>, WireError> {
    const AT: &str = "config.linux.security_context.namespace_options";
    let Some(linux) = &config.linux else { return Ok(None) };
    if !linux.sysctls.is_empty() {
        let why = "a HostProcess pod has the host's kernel settings, and they are not changed for a pod";
        return Err(WireError::unsupported("config.linux.sysctls", why));
    }
    let Some(asked) = linux.security_context.as_ref().and_then(|context| context.namespace_options.clone())
    else {
        return Ok(None);
    };
    for mode in [asked.network, asked.pid, asked.ipc] {
        NamespaceMode::try_from(mode).map_err(|_| WireError::invalid(AT, mode, "a NamespaceMode, 0 to 3"))?;
    }
    if [asked.network, asked.ipc].contains(&NamespaceMode::Target.into()) {
        return Err(WireError::invalid(AT, "TARGET", "POD or NODE for network and ipc"));
    }
    match &asked.userns_options {
        Some(users) if users.mode != i32::from(NamespaceMode::Node) => {
            Err(WireError::unsupported(AT, "a HostProcess pod has the host's users: leave hostUsers out"))
        }
        _ => Ok(Some(asked)),
    }
}

fn port(mapping: &api::PortMapping) -> Result<(), WireError> {
    const AT: &str = "config.port_mappings";
    Protocol::try_from(mapping.protocol)
        .map_err(|_| WireError::invalid(AT, mapping.protocol, "TCP, UDP or SCTP"))?;
    for number in [mapping.container_port, mapping.host_port] {
        u16::try_from(number).map_err(|_| WireError::invalid(AT, number, "a port, 0 to 65535"))?;
    }
    if !mapping.host_ip.is_empty() && mapping.host_ip.parse::<std::net::IpAddr>().is_err() {
        return Err(WireError::invalid(AT, &mapping.host_ip, "an address"));
    }
    Ok(())
}

/// What a pod may use altogether. Containers have their own limits; this is kept and told again.
pub fn pod_resources(
    request: &api::UpdatePodSandboxResourcesRequest,
    note: &mut PodNote,
) -> Result<(), WireError> {
    for (at, asked) in [("overhead", &request.overhead), ("resources", &request.resources)] {
        asked.as_ref().map(|asked| super::resources::linux(at, asked)).transpose()?;
    }
    if request.overhead.is_some() {
        note.overhead.clone_from(&request.overhead);
    }
    if request.resources.is_some() {
        note.resources.clone_from(&request.resources);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str =
        "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n- images: [\"*\"]\n";

    fn on_windows(handler: &str, policy: Option<&Policy>) -> Result<bool, WireError> {
        let asked =
            Asked { handler: Handler::parse(handler, &Handler::HostProcess)?, by_name: !handler.is_empty() };
        let rules = PodRules {
            style: Style::Windows,
            default_handler: &Handler::HostProcess,
            annotation_policy: policy,
        };
        host_process(&api::PodSandboxConfig::default(), &asked, &rules)
    }

    // proves: HP-06 pure
    #[test]
    fn on_windows_a_handler_alone_asks_for_host_process_only_where_a_policy_judges_such_pods() {
        let policy = Policy::parse(POLICY).expect("a policy");
        assert_eq!(on_windows("hostprocess", Some(&policy)), Ok(true));
        assert!(on_windows("hostprocess", None).is_err());
        for handler in ["", "process", "runhcs-wcow-hypervisor"] {
            assert!(on_windows(handler, Some(&policy)).is_err(), "{handler}");
        }
    }
}
