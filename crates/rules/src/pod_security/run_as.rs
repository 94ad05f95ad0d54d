//! `runAsNonRoot` and `runAsUser`: nobody is root, unless in a user namespace where root is nobody.

use super::pod::{Container, Pod};
use super::words::{Refusal, containers, refusal, setters};

pub(super) const NON_ROOT_FIELDS: &[&str] = &[
    "spec.securityContext.runAsNonRoot",
    "spec.containers[*].securityContext.runAsNonRoot",
    "spec.hostUsers",
];

pub(super) const USER_FIELDS: &[&str] =
    &["spec.securityContext.runAsUser", "spec.containers[*].securityContext.runAsUser", "spec.hostUsers"];

const NON_ROOT: &str = "runAsNonRoot != true";

pub(super) fn non_root(pod: &Pod<'_>) -> Option<Refusal> {
    let by_pod = pod.security().and_then(|s| s.run_as_non_root);
    let saying = |word| pod.containers().filter(move |c| own_non_root(c) == word);
    if let Some(who) = setters(by_pod == Some(false), containers(saying(Some(false)))) {
        return Some(refusal(NON_ROOT, format!("{who} must not set securityContext.runAsNonRoot=false")));
    }
    if by_pod == Some(true) {
        return None;
    }
    let who = containers(saying(None))?;
    Some(refusal(NON_ROOT, format!("pod or {who} must set securityContext.runAsNonRoot=true")))
}

pub(super) fn non_root_of_host_users(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.has_user_namespace() { None } else { non_root(pod) }
}

pub(super) fn user(pod: &Pod<'_>) -> Option<Refusal> {
    let by_pod = pod.security().and_then(|s| s.run_as_user) == Some(0);
    let root = |c: &Container<'_>| c.security.and_then(|s| s.run_as_user) == Some(0);
    let who = setters(by_pod, containers(pod.containers().filter(root)))?;
    Some(refusal("runAsUser=0", format!("{who} must not set runAsUser=0")))
}

pub(super) fn user_of_host_users(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.has_user_namespace() { None } else { user(pod) }
}

fn own_non_root(container: &Container<'_>) -> Option<bool> {
    container.security.and_then(|s| s.run_as_non_root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    const ROOT: &str = "spec:
      hostUsers: false
      securityContext: {runAsNonRoot: false, runAsUser: 0}
      initContainers: [{name: i, securityContext: {runAsNonRoot: false, runAsUser: 0}}]
      containers: [{name: a, securityContext: {runAsNonRoot: true, runAsUser: 1}}, {name: b}]";

    #[test]
    fn a_false_word_counts_before_a_missing_one() {
        let refused = r#"pod and container "i" must not set securityContext.runAsNonRoot=false"#;
        details(
            non_root,
            &[
                (ROOT, refused),
                ("spec: {securityContext: {runAsNonRoot: true}, containers: [{name: a}]}", ""),
                ("spec: {containers: [{name: a, securityContext: {runAsNonRoot: true}}]}", ""),
                (
                    "spec: {securityContext: {}, containers: [{name: a}, {name: b, securityContext: {}}]}",
                    r#"pod or containers "a", "b" must set securityContext.runAsNonRoot=true"#,
                ),
                (
                    "spec: {securityContext: {runAsNonRoot: true}, containers: [{name: a, securityContext: {runAsNonRoot: false}}]}",
                    r#"container "a" must not set securityContext.runAsNonRoot=false"#,
                ),
            ],
        );
        details(
            non_root_of_host_users,
            &[(ROOT, ""), (&ROOT.replace("Users: false", "Users: true"), refused)],
        );
    }

    #[test]
    fn only_zero_is_root() {
        let refused = r#"pod and container "i" must not set runAsUser=0"#;
        let other = "spec: {securityContext: {runAsUser: 5}, containers: [{name: a, securityContext: {runAsUser: 1}}]}";
        details(user, &[(ROOT, refused), (other, ""), ("spec: {containers: [{name: a}]}", "")]);
        details(user_of_host_users, &[(ROOT, ""), (&ROOT.replace("Users: false", "Users: true"), refused)]);
    }
}
