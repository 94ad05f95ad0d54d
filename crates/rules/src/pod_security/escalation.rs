//! `allowPrivilegeEscalation`: every container must say no. A Windows pod cannot say it, and has been let off
//! since pods name their OS.

use super::pod::{Container, Pod};
use super::words::{Refusal, containers, refusal};

pub(super) const FIELDS: &[&str] =
    &["spec.containers[*].securityContext.allowPrivilegeEscalation", "spec.os.name"];

pub(super) fn any(pod: &Pod<'_>) -> Option<Refusal> {
    let open = |c: &Container<'_>| c.security.and_then(|s| s.allow_privilege_escalation) != Some(false);
    let who = containers(pod.containers().filter(open))?;
    let detail = format!("{who} must set securityContext.allowPrivilegeEscalation=false");
    Some(refusal("allowPrivilegeEscalation != false", detail))
}

pub(super) fn not_windows(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.is_windows() { None } else { any(pod) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn every_container_must_say_no() {
        let silent = "spec:
          os: {name: windows}
          initContainers: [{name: i, securityContext: {allowPrivilegeEscalation: true}}]
          containers:
          - {name: a, securityContext: {}}
          - {name: b, securityContext: {allowPrivilegeEscalation: false}}
          - {name: c}";
        let refused = r#"containers "i", "a", "c" must set securityContext.allowPrivilegeEscalation=false"#;
        details(any, &[(silent, refused)]);
        details(not_windows, &[(silent, ""), (&silent.replace("windows", "linux"), refused)]);
        let good = "spec: {containers: [{name: b, securityContext: {allowPrivilegeEscalation: false}}]}";
        details(any, &[(good, "")]);
        details(not_windows, &[(good, "")]);
    }
}
