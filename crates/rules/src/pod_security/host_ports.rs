//! `hostPorts`: no port of the host for a container.

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, joined, plural, quoted, refusal, uses};

pub(super) fn refuses(pod: &Pod<'_>) -> Option<Refusal> {
    let guilty: Vec<_> = pod.containers().filter(|c| host_ports(c).next().is_some()).collect();
    // As texts, hence 443 before 80.
    let ports: Values = guilty.iter().flat_map(host_ports).map(|port| port.to_string()).collect();
    (!guilty.is_empty()).then(|| {
        let (count, names) = (guilty.len(), quoted(guilty.iter().map(|c| c.name)));
        let (who, what) = (plural("container", count), plural("hostPort", ports.len()));
        refusal("hostPort", format!("{who} {names} {} {what} {}", uses(count), joined(ports)))
    })
}

fn host_ports(container: &Container<'_>) -> impl Iterator<Item = i32> {
    container.ports.iter().filter_map(|port| port.host_port).filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn ports_are_named_once_and_sorted_as_texts() {
        details(
            refuses,
            &[
                ("spec: {containers: [{name: a, ports: [{containerPort: 80}, {containerPort: 81, hostPort: 0}]}]}", ""),
                (
                    "spec: {containers: [{name: a, ports: [{containerPort: 1, hostPort: 80}]}, {name: b}]}",
                    r#"container "a" uses hostPort 80"#,
                ),
                (
                    "spec:
                      containers:
                      - {name: b, ports: [{containerPort: 1, hostPort: 80}, {containerPort: 1, hostPort: 443}]}
                      - {name: a, ports: [{containerPort: 1, hostPort: 8080}, {containerPort: 1, hostPort: 80}]}
                      ephemeralContainers: [{name: e, ports: [{containerPort: 1, hostPort: 9}]}]",
                    r#"containers "b", "a", "e" use hostPorts 443, 80, 8080, 9"#,
                ),
                (
                    "spec: {containers: [{name: a, ports: [{containerPort: 1, hostPort: 80}, {containerPort: 2, hostPort: 81}]}]}",
                    r#"container "a" uses hostPorts 80, 81"#,
                ),
            ],
        );
    }
}
