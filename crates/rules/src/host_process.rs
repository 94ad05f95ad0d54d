//! `windowsOptions.hostProcess`, on the pod and on its containers (HP-01, HP-02, HP-03, HP-05).

use k8s_openapi::api::core::v1::{PodSpec, SecurityContext, WindowsSecurityContextOptions};

use crate::Violation;
use crate::api::{ApiOptions, Judged};

const FLAG: &str = "securityContext.windowsOptions.hostProcess";

/// The three lists of containers, in the order in which Kubernetes looks at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerKind {
    Init,
    Regular,
    Ephemeral,
}

/// What the rules need to know of one container.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    pub kind: ContainerKind,
    pub index: usize,
    pub name: &'a str,
    pub security: Option<&'a SecurityContext>,
}

/// Every container of the pod: init, regular, ephemeral.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = Seen<'_>> {
    init(spec).chain(regular(spec)).chain(ephemeral(spec))
}

pub(crate) fn init(spec: &PodSpec) -> impl Iterator<Item = Seen<'_>> {
    let list = spec.init_containers.iter().flatten().enumerate();
    list.map(|(i, c)| seen(ContainerKind::Init, i, &c.name, c.security_context.as_ref()))
}

pub(crate) fn regular(spec: &PodSpec) -> impl Iterator<Item = Seen<'_>> {
    let list = spec.containers.iter().enumerate();
    list.map(|(i, c)| seen(ContainerKind::Regular, i, &c.name, c.security_context.as_ref()))
}

pub(crate) fn ephemeral(spec: &PodSpec) -> impl Iterator<Item = Seen<'_>> {
    let list = spec.ephemeral_containers.iter().flatten().enumerate();
    list.map(|(i, c)| seen(ContainerKind::Ephemeral, i, &c.name, c.security_context.as_ref()))
}

/// Whether the pod is a HostProcess pod: one of its containers is, by its own word or by inheritance.
pub fn is_host_process(spec: &PodSpec) -> bool {
    let pod = of_pod(spec);
    containers(spec).any(|container| container.host_process(pod))
}

/// The HostProcess rules on a pod's spec. They add up: a pod that breaks two gets two violations.
pub fn host_process(spec: &PodSpec) -> Vec<Violation> {
    let mut found = Vec::new();
    judge(&Judged { spec, at: "spec" }, &ApiOptions::default(), &mut found);
    found
}

/// The same, wherever the spec is, and with what the cluster allows (HP-03, HP-05).
pub(crate) fn judge(pod: &Judged<'_>, options: &ApiOptions, found: &mut Vec<Violation>) {
    let flag = of_pod(pod.spec);
    found.extend(containers(pod.spec).filter_map(|c| contradicts_pod(pod, &c, flag)));
    if !is_host_process(pod.spec) {
        return;
    }
    if !containers(pod.spec).all(|container| container.host_process(flag)) {
        found.push(Violation::invalid(
            pod.at,
            "",
            "if one container is a HostProcess container, all must be",
        ));
    }
    if pod.spec.host_network != Some(true) {
        found.push(Violation::invalid(pod.field("hostNetwork"), false, "must be true for a HostProcess pod"));
    }
    if !options.allow_privileged {
        let message = "this cluster allows no privileged pods, and so no HostProcess containers";
        found.push(Violation::forbidden(pod.at, message));
    }
    if !options.host_process {
        switched_off(pod, found);
    }
}

/// Not a rule of the API server's, which lost the switch: reported where the pod asks for it.
fn switched_off(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    let message = "HostProcess containers are off here (the switch WindowsHostProcessContainers)";
    if of_pod(pod.spec) == Some(true) {
        found.push(Violation::forbidden(pod.field(FLAG), message));
    }
    let askers = containers(pod.spec).filter(|container| container.own() == Some(true));
    found.extend(askers.map(|container| Violation::forbidden(pod.container(&container, FLAG), message)));
}

fn contradicts_pod(pod: &Judged<'_>, container: &Seen<'_>, flag: Option<bool>) -> Option<Violation> {
    let (own, flag) = (container.own()?, flag?);
    let message = format!("must be the same as the pod's, which is {flag}");
    (own != flag).then(|| Violation::invalid(pod.container(container, FLAG), own, message))
}

fn of_pod(spec: &PodSpec) -> Option<bool> {
    flag(spec.security_context.as_ref()?.windows_options.as_ref())
}

fn flag(options: Option<&WindowsSecurityContextOptions>) -> Option<bool> {
    options?.host_process
}

fn seen<'a>(
    kind: ContainerKind,
    index: usize,
    name: &'a str,
    security: Option<&'a SecurityContext>,
) -> Seen<'a> {
    Seen { kind, index, name, security }
}

// === impl Seen ===

impl Seen<'_> {
    fn own(&self) -> Option<bool> {
        flag(self.security?.windows_options.as_ref())
    }

    fn host_process(&self, pod: Option<bool>) -> bool {
        self.own().or(pod).unwrap_or(false)
    }

    /// Its place in the spec: `containers[0]`.
    pub fn place(&self) -> String {
        format!("{}[{}]", self.kind.list(), self.index)
    }
}

// === impl ContainerKind ===

impl ContainerKind {
    /// The field of the spec that has the list.
    pub fn list(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Regular => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod upstream;
