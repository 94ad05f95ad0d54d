//! `procMount`: /proc stays masked. In a user namespace baseline no longer minds, restricted still does.

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, containers, quoted, refusal};

pub(super) const FIELDS: &[&str] = &["spec.containers[*].securityContext.procMount", "spec.hostUsers"];

pub(super) fn any(pod: &Pod<'_>) -> Option<Refusal> {
    let who = containers(pod.containers().filter(|c| unmasked(c).is_some()))?;
    let kinds: Values<_> = pod.containers().filter_map(|c| unmasked(&c)).collect();
    let detail = format!("{who} must not set securityContext.procMount to {}", quoted(kinds));
    Some(refusal("procMount", detail))
}

pub(super) fn of_host_users(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.has_user_namespace() { None } else { any(pod) }
}

fn unmasked<'a>(container: &Container<'a>) -> Option<&'a str> {
    container.security?.proc_mount.as_deref().filter(|kind| *kind != "Default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    const UNMASKED: &str = "
        initContainers: [{name: i, securityContext: {procMount: Unmasked}}, {name: j, securityContext: {procMount: Default}}]
        containers: [{name: a, securityContext: {procMount: Other}}, {name: b, securityContext: {}}]";

    #[test]
    fn only_a_user_namespace_excuses_and_only_in_baseline() {
        let refused = r#"containers "i", "a" must not set securityContext.procMount to "Other", "Unmasked""#;
        let (plain, in_namespace, shared) = (
            format!("spec: {UNMASKED}"),
            format!("spec: {UNMASKED}\n        hostUsers: false"),
            format!("spec: {UNMASKED}\n        hostUsers: true"),
        );
        details(any, &[(&plain, refused), (&in_namespace, refused)]);
        details(of_host_users, &[(&plain, refused), (&shared, refused), (&in_namespace, "")]);
        details(any, &[("spec: {containers: [{name: a, securityContext: {procMount: Default}}]}", "")]);
    }
}
