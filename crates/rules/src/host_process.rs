//! `windowsOptions.hostProcess`, on the pod and on its containers (HP-01, HP-02).

use k8s_openapi::api::core::v1::{PodSpec, SecurityContext, WindowsSecurityContextOptions};
use serde_json::Value;

use crate::{Reason, Violation};

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
    security: Option<&'a SecurityContext>,
}

/// Every container of the pod: init, regular, ephemeral.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = Seen<'_>> {
    let init = spec.init_containers.iter().flatten();
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let init =
        init.enumerate().map(|(i, c)| seen(ContainerKind::Init, i, &c.name, c.security_context.as_ref()));
    let regular = spec.containers.iter().enumerate();
    let regular = regular.map(|(i, c)| seen(ContainerKind::Regular, i, &c.name, c.security_context.as_ref()));
    let ephemeral = ephemeral
        .enumerate()
        .map(|(i, c)| seen(ContainerKind::Ephemeral, i, &c.name, c.security_context.as_ref()));
    init.chain(regular).chain(ephemeral)
}

/// Whether the pod is a HostProcess pod: one of its containers is, by its own word or by inheritance.
pub fn is_host_process(spec: &PodSpec) -> bool {
    let pod = of_pod(spec);
    containers(spec).any(|container| container.host_process(pod))
}

/// The HostProcess rules. They add up: a pod that breaks two gets two violations.
pub fn host_process(spec: &PodSpec) -> Vec<Violation> {
    let pod = of_pod(spec);
    let mut violations: Vec<_> = containers(spec).filter_map(|c| contradicts_pod(&c, pod)).collect();
    let all: Vec<_> = containers(spec).map(|c| c.host_process(pod)).collect();
    if !all.contains(&true) {
        return violations;
    }
    if all.contains(&false) {
        violations.push(invalid(
            "spec",
            "".into(),
            "if one container is a HostProcess container, all must be",
        ));
    }
    if spec.host_network != Some(true) {
        violations.push(invalid("spec.hostNetwork", false.into(), "must be true for a HostProcess pod"));
    }
    violations
}

fn contradicts_pod(container: &Seen<'_>, pod: Option<bool>) -> Option<Violation> {
    let (own, pod) = (container.own()?, pod?);
    let field = format!("{}.securityContext.windowsOptions.hostProcess", container.path());
    let message = format!("must be the same as the pod's, which is {pod}");
    (own != pod).then(|| invalid(&field, own.into(), &message))
}

fn of_pod(spec: &PodSpec) -> Option<bool> {
    flag(spec.security_context.as_ref()?.windows_options.as_ref())
}

fn flag(options: Option<&WindowsSecurityContextOptions>) -> Option<bool> {
    options?.host_process
}

fn invalid(field: &str, value: Value, message: &str) -> Violation {
    Violation {
        reason: Reason::FieldValueInvalid,
        field: field.to_owned(),
        value,
        message: message.to_owned(),
    }
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

    fn path(&self) -> String {
        let list = match self.kind {
            ContainerKind::Init => "initContainers",
            ContainerKind::Regular => "containers",
            ContainerKind::Ephemeral => "ephemeralContainers",
        };
        format!("spec.{list}[{}]", self.index)
    }
}

#[cfg(test)]
mod tests;
