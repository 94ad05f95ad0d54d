//! All rules of the API server that we know, on an object as it is sent: same reasons, fields, values and order as
//! kube-apiserver 1.36 with its default feature gates. [`covers`](crate::covers()) says which fields those are.

use k8s_openapi::api::core::v1::PodSpec;

use crate::host_process::{ephemeral, init, regular};
use crate::{
    Seen, Subject, Violation, host_namespaces, host_network, host_process, pod_os, privileged,
    windows_options,
};

/// What the cluster allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiOptions {
    /// The API server's `--allow-privileged`: without it no HostProcess pods either (HP-03).
    pub allow_privileged: bool,
    /// The switch WindowsHostProcessContainers (HP-05). The API server has it no more, the nodes have.
    pub host_process: bool,
}

/// A pod's spec and where it is in its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) spec: &'a PodSpec,
    pub(crate) at: &'a str,
}

/// What the API server would say to creating the object; nothing if it takes it.
pub fn api(subject: &Subject, options: &ApiOptions) -> Vec<Violation> {
    let mut found = api_ephemeral(subject, options);
    if subject.spec.ephemeral_containers.as_ref().is_some_and(|list| !list.is_empty()) {
        let field = format!("{}.ephemeralContainers", subject.kind.spec_path());
        let message = match subject.kind.is_template() {
            true => "a template has no ephemeral containers",
            false => {
                "ephemeral containers come to a running pod, through its ephemeralcontainers subresource"
            }
        };
        found.push(Violation::forbidden(field, message));
    }
    found
}

/// What it would say to a pod that exists, with the ephemeral containers it is to have.
pub fn api_ephemeral(subject: &Subject, options: &ApiOptions) -> Vec<Violation> {
    let pod = &Judged { spec: &subject.spec, at: subject.kind.spec_path() };
    let defaulted = !subject.kind.is_template();
    let mut found = Vec::new();
    regular(pod.spec).for_each(|container| security_context(pod, &container, options, &mut found));
    host_network::conflicts(pod, defaulted, &mut found);
    for container in init(pod.spec) {
        security_context(pod, &container, options, &mut found);
        host_network::init_conflicts(pod, container.index, defaulted, &mut found);
    }
    ephemeral(pod.spec).for_each(|container| security_context(pod, &container, options, &mut found));
    pod_os::resources(pod, &mut found);
    host_network::ports(pod, &mut found);
    host_namespaces::share_process_namespace(pod, &mut found);
    windows_options::of_pod(pod, &mut found);
    host_process::judge(pod, options, &mut found);
    host_namespaces::host_users(pod, &mut found);
    host_network::hostname_override(pod, &mut found);
    pod_os::judge(pod, &mut found);
    found
}

fn security_context(
    pod: &Judged<'_>,
    container: &Seen<'_>,
    options: &ApiOptions,
    found: &mut Vec<Violation>,
) {
    if let Some(security) = container.security {
        privileged::judge(pod, container, security, options, found);
        windows_options::of_container(pod, container, security, found);
    }
}

// === impl ApiOptions ===

impl Default for ApiOptions {
    fn default() -> Self {
        Self { allow_privileged: true, host_process: true }
    }
}

// === impl Judged ===

impl Judged<'_> {
    /// The path of a field of the spec.
    pub(crate) fn field(&self, rest: &str) -> String {
        format!("{}.{rest}", self.at)
    }

    /// The path of a field of a container.
    pub(crate) fn container(&self, container: &Seen<'_>, rest: &str) -> String {
        format!("{}.{}.{rest}", self.at, container.place())
    }

    /// `spec.os.name`, if there is one.
    pub(crate) fn os(&self) -> Option<&str> {
        self.spec.os.as_ref().map(|os| os.name.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests;
