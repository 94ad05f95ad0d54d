//! `sysctls`: only those that stay inside the pod. The list has grown with the kernels that Kubernetes expects.

use super::pod::Pod;
use super::words::{Refusal, joined, refusal};

/// Each with the minor of the first policy version that allows it.
const ALLOWED: [(u64, &str); 12] = [
    (0, "kernel.shm_rmid_forced"),
    (0, "net.ipv4.ip_local_port_range"),
    (0, "net.ipv4.tcp_syncookies"),
    (0, "net.ipv4.ping_group_range"),
    (0, "net.ipv4.ip_unprivileged_port_start"),
    (27, "net.ipv4.ip_local_reserved_ports"),
    (29, "net.ipv4.tcp_keepalive_time"),
    (29, "net.ipv4.tcp_fin_timeout"),
    (29, "net.ipv4.tcp_keepalive_intvl"),
    (29, "net.ipv4.tcp_keepalive_probes"),
    (32, "net.ipv4.tcp_rmem"),
    (32, "net.ipv4.tcp_wmem"),
];

pub(super) fn v1_0(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, 0)
}

pub(super) fn v1_27(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, 27)
}

pub(super) fn v1_29(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, 29)
}

pub(super) fn v1_32(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, 32)
}

fn beyond(pod: &Pod<'_>, minor: u64) -> Option<Refusal> {
    let allowed = |name: &str| ALLOWED.iter().any(|(since, known)| *since <= minor && *known == name);
    let all = pod.security().and_then(|s| s.sysctls.as_deref()).unwrap_or_default();
    let bad: Vec<_> = all.iter().map(|sysctl| sysctl.name.clone()).filter(|name| !allowed(name)).collect();
    (!bad.is_empty()).then(|| refusal("forbidden sysctls", joined(bad)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn the_list_grows_with_the_versions() {
        let names: Vec<_> = ALLOWED.iter().map(|(_, name)| format!("{{name: {name}, value: '1'}}")).collect();
        let pod = format!("spec: {{securityContext: {{sysctls: [{}]}}, containers: []}}", names.join(", "));
        let later = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"].join(", ");
        let keepalive = "net.ipv4.tcp_keepalive_time, net.ipv4.tcp_fin_timeout, net.ipv4.tcp_keepalive_intvl, \
                         net.ipv4.tcp_keepalive_probes";
        details(v1_0, &[(&pod, &format!("net.ipv4.ip_local_reserved_ports, {keepalive}, {later}"))]);
        details(v1_27, &[(&pod, &format!("{keepalive}, {later}"))]);
        details(v1_29, &[(&pod, &later)]);
        details(v1_32, &[(&pod, "")]);
    }

    #[test]
    fn others_are_named_in_their_order_as_often_as_set() {
        let pod = "spec: {securityContext: {sysctls: [{name: z}, {name: a}, {name: z}]}, containers: []}";
        details(v1_32, &[(pod, "z, a, z"), ("spec: {containers: []}", "")]);
    }
}
