//! What follows from ports of the host: `hostNetwork`, `hostPort`, `hostnameOverride` (HP-02, HP-09).

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{Container, ContainerPort};

use crate::api::Judged;
use crate::{Reason, Violation, dns};

const LONGEST_HOST_NAME: usize = 64;

/// On the host's network a container's port is the host's. Only regular containers are looked at.
///
/// A Pod without `hostPort` gets its `containerPort`, a template may leave it out: neither is wrong.
pub(crate) fn ports(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    if pod.spec.host_network != Some(true) {
        return;
    }
    for (c, container) in pod.spec.containers.iter().enumerate() {
        for (p, port) in container.ports.iter().flatten().enumerate() {
            let host = port.host_port.unwrap_or_default();
            if host != 0 && host != port.container_port {
                let field = pod.field(&format!("containers[{c}].ports[{p}].hostPort"));
                let message = "must be the containerPort (or left out) when hostNetwork is true";
                found.push(Violation::invalid(field, host, message));
            }
        }
    }
}

/// No two regular containers of a pod take one port of the host.
pub(crate) fn conflicts(pod: &Judged<'_>, defaulted: bool, found: &mut Vec<Violation>) {
    let mut taken = HashSet::new();
    for (c, container) in pod.spec.containers.iter().enumerate() {
        taken_twice(pod, &format!("containers[{c}]"), container, defaulted, &mut taken, found);
    }
}

/// Init containers run one by one: each can be in conflict with itself only.
pub(crate) fn init_conflicts(pod: &Judged<'_>, index: usize, defaulted: bool, found: &mut Vec<Violation>) {
    let list = pod.spec.init_containers.as_deref().unwrap_or_default();
    if let Some(container) = list.get(index) {
        // The API server says [0] whichever it is.
        taken_twice(pod, "initContainers[0]", container, defaulted, &mut HashSet::new(), found);
    }
}

fn taken_twice(
    pod: &Judged<'_>,
    place: &str,
    container: &Container,
    defaulted: bool,
    taken: &mut HashSet<String>,
    found: &mut Vec<Violation>,
) {
    for (p, port) in container.ports.iter().flatten().enumerate() {
        let host = host_port(pod, port, defaulted);
        if host == 0 {
            continue;
        }
        let key = format!("{}/{}/{host}", protocol(port), port.host_ip.as_deref().unwrap_or_default());
        if !taken.insert(key.clone()) {
            let field = pod.field(&format!("{place}.ports[{p}].hostPort"));
            let message = "is taken by another port of the pod";
            found.push(Violation::new(Reason::FieldValueDuplicate, field, key, message));
        }
    }
}

/// A Pod's `hostPort` is filled in before it is judged, a template's is not.
fn host_port(pod: &Judged<'_>, port: &ContainerPort, defaulted: bool) -> i32 {
    match port.host_port.unwrap_or_default() {
        0 if defaulted && pod.spec.host_network == Some(true) => port.container_port,
        host => host,
    }
}

fn protocol(port: &ContainerPort) -> &str {
    port.protocol.as_deref().filter(|protocol| !protocol.is_empty()).unwrap_or("TCP")
}

/// A name of the pod's own, which a pod with the host's network cannot have.
pub(crate) fn hostname_override(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    let Some(name) = &pod.spec.hostname_override else { return };
    let field = || pod.field("hostnameOverride");
    if pod.spec.set_hostname_as_fqdn == Some(true) {
        found.push(Violation::forbidden(field(), "must not be set together with setHostnameAsFQDN"));
    }
    if pod.spec.host_network == Some(true) {
        found.push(Violation::forbidden(field(), "must not be set together with hostNetwork"));
    }
    if name.len() > LONGEST_HOST_NAME {
        let message = "must be no more than 64 bytes";
        found.push(Violation::new(Reason::FieldValueTooLong, field(), "", message));
    }
    found.extend(dns::subdomain(name).map(|message| Violation::invalid(field(), name.as_str(), message)));
}

#[cfg(test)]
mod tests;
