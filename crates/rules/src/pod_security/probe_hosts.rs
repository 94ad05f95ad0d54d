//! `hostProbesAndHostLifecycle`: a probe or hook with a host of its own makes the kubelet knock on doors that
//! are not the pod's.

use k8s_openapi::api::core::v1::{HTTPGetAction, LifecycleHandler, Probe, TCPSocketAction};

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, plural, quoted, refusal, uses};

#[rustfmt::skip]
pub(super) const FIELDS: &[&str] = &[
    "spec.containers[*].livenessProbe.{httpGet,tcpSocket}.host",
    "spec.containers[*].readinessProbe.{httpGet,tcpSocket}.host",
    "spec.containers[*].startupProbe.{httpGet,tcpSocket}.host",
    "spec.containers[*].lifecycle.{postStart,preStop}.{httpGet,tcpSocket}.host",
];

pub(super) fn refuses(pod: &Pod<'_>) -> Option<Refusal> {
    // Other than elsewhere the names are sorted too.
    let mut names = Values::new();
    let mut hosts = Values::new();
    for container in pod.containers() {
        for host in hosts_of(&container) {
            names.insert(container.name);
            hosts.insert(host);
        }
    }
    (!names.is_empty()).then(|| {
        let (who, what) = (plural("container", names.len()), plural("probe or lifecycle host", hosts.len()));
        let detail = format!("{who} {} {} {what} {}", quoted(&names), uses(names.len()), quoted(&hosts));
        refusal("probe or lifecycle host", detail)
    })
}

fn hosts_of<'a>(container: &Container<'a>) -> impl Iterator<Item = &'a str> {
    let probes = container.probes.into_iter().flatten().map(of_probe);
    let hooks = container.lifecycle.into_iter().flat_map(|l| [&l.post_start, &l.pre_stop]);
    probes.chain(hooks.flatten().map(of_hook)).flatten().flatten().filter(|host| !host.is_empty())
}

fn of_probe(probe: &Probe) -> [Option<&str>; 2] {
    both(probe.http_get.as_ref(), probe.tcp_socket.as_ref())
}

fn of_hook(hook: &LifecycleHandler) -> [Option<&str>; 2] {
    both(hook.http_get.as_ref(), hook.tcp_socket.as_ref())
}

fn both<'a>(http: Option<&'a HTTPGetAction>, tcp: Option<&'a TCPSocketAction>) -> [Option<&'a str>; 2] {
    [http.and_then(|get| get.host.as_deref()), tcp.and_then(|socket| socket.host.as_deref())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn every_probe_and_hook_counts() {
        let fields = FIELDS.iter().flat_map(|field| {
            let path = field.trim_start_matches("spec.containers[*].").trim_end_matches(".host");
            let hooks = ["postStart", "preStop"].map(|hook| path.replace("{postStart,preStop}", hook));
            let both =
                hooks.map(|p| ["httpGet", "tcpSocket"].map(|how| p.replace("{httpGet,tcpSocket}", how)));
            both.into_iter().flatten()
        });
        for path in fields {
            let nested = |host: &str| {
                let (open, close) = (path.replace('.', ": {"), "}".repeat(path.matches('.').count()));
                format!("spec: {{containers: [{{name: a, {open}: {{port: 1, host: '{host}'}}{close}}}]}}")
            };
            let expected = r#"container "a" uses probe or lifecycle host "x""#;
            details(refuses, &[(&nested("x"), expected), (&nested(""), "")]);
        }
    }

    #[test]
    fn names_and_hosts_are_sorted_and_said_once() {
        details(
            refuses,
            &[
                (
                    "spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1}, tcpSocket: {port: 1}}}]}",
                    "",
                ),
                (
                    "spec:
                      initContainers: [{name: z, livenessProbe: {tcpSocket: {port: 1, host: y}}}]
                      containers:
                      - name: a
                        lifecycle: {preStop: {httpGet: {port: 1, host: x}}}
                        readinessProbe: {httpGet: {port: 1, host: y}}
                      ephemeralContainers: [{name: e, startupProbe: {httpGet: {port: 1, host: x}}}]",
                    r#"containers "a", "e", "z" use probe or lifecycle hosts "x", "y""#,
                ),
            ],
        );
    }
}
