//! `privileged`: a privileged container has the whole host.

use super::pod::{Container, Pod};
use super::words::{Refusal, containers, refusal};

pub(super) fn refuses(pod: &Pod<'_>) -> Option<Refusal> {
    let set = |c: &Container<'_>| c.security.and_then(|s| s.privileged) == Some(true);
    let who = containers(pod.containers().filter(set))?;
    Some(refusal("privileged", format!("{who} must not set securityContext.privileged=true")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn only_true_is_refused_in_every_list_of_containers() {
        details(
            refuses,
            &[
                ("spec: {containers: [{name: a}, {name: b, securityContext: {privileged: false}}]}", ""),
                (
                    "spec: {containers: [{name: a, securityContext: {privileged: true}}]}",
                    r#"container "a" must not set securityContext.privileged=true"#,
                ),
                (
                    "spec:
                      initContainers: [{name: i, securityContext: {privileged: true}}]
                      containers: [{name: a, securityContext: {privileged: true}}]
                      ephemeralContainers: [{name: e, securityContext: {privileged: true}}]",
                    r#"containers "i", "a", "e" must not set securityContext.privileged=true"#,
                ),
            ],
        );
    }
}
