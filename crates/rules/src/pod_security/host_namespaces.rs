//! `hostNamespaces`: no network, processes or IPC shared with the host. Every HostProcess pod trips on it.

use super::pod::Pod;
use super::words::{Refusal, joined, refusal};

pub(super) fn refuses(pod: &Pod<'_>) -> Option<Refusal> {
    let spec = pod.spec;
    let all = [("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)];
    let shared = all.into_iter().filter(|(_, set)| *set == Some(true));
    let detail = joined(shared.map(|(name, _)| format!("{name}=true")));
    (!detail.is_empty()).then(|| refusal("host namespaces", detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn each_shared_namespace_is_named() {
        details(
            refuses,
            &[
                ("spec: {containers: [], hostNetwork: false, hostPID: false, hostIPC: false}", ""),
                ("spec: {containers: [], hostNetwork: true}", "hostNetwork=true"),
                ("spec: {containers: [], hostPID: true}", "hostPID=true"),
                ("spec: {containers: [], hostIPC: true}", "hostIPC=true"),
                (
                    "spec: {containers: [], hostIPC: true, hostPID: true, hostNetwork: true}",
                    "hostNetwork=true, hostPID=true, hostIPC=true",
                ),
            ],
        );
    }
}
