//! `capabilities`: baseline lets a container add what runtimes give by default; restricted wants all dropped and
//! at most the one for low ports added.

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, containers, quoted, refusal};

pub(super) const FIELDS: &[&str] = &[
    "spec.containers[*].securityContext.capabilities.drop",
    "spec.containers[*].securityContext.capabilities.add",
    "spec.os.name",
];

#[rustfmt::skip]
const DEFAULTS: &[&str] = &[
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
];

pub(super) fn baseline(pod: &Pod<'_>) -> Option<Refusal> {
    Some(refusal("non-default capabilities", adds_beyond(pod, DEFAULTS)?))
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Refusal> {
    let keeps = containers(pod.containers().filter(|c| !drops_all(c)));
    let keeps = keeps.map(|who| format!("{who} must set securityContext.capabilities.drop=[\"ALL\"]"));
    let details: Vec<_> = keeps.into_iter().chain(adds_beyond(pod, &["NET_BIND_SERVICE"])).collect();
    (!details.is_empty()).then(|| refusal("unrestricted capabilities", details.join("; ")))
}

pub(super) fn not_windows(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.is_windows() { None } else { restricted(pod) }
}

fn adds_beyond(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let wrong = |name: &&str| !allowed.contains(name);
    let who = containers(pod.containers().filter(|c| added(c).any(|name| wrong(&name))))?;
    let names: Values<_> = pod.containers().flat_map(|c| added(&c)).filter(wrong).collect();
    Some(format!("{who} must not include {} in securityContext.capabilities.add", quoted(names)))
}

fn added<'a>(container: &Container<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let set = container.security.and_then(|s| s.capabilities.as_ref()?.add.as_deref());
    set.unwrap_or_default().iter().map(String::as_str)
}

fn drops_all(container: &Container<'_>) -> bool {
    let set = container.security.and_then(|s| s.capabilities.as_ref()?.drop.as_deref());
    set.unwrap_or_default().iter().any(|name| name == "ALL")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn baseline_lets_the_runtimes_defaults_be_added() {
        let defaults = format!(
            "spec: {{containers: [{{name: a, securityContext: {{capabilities: {{add: [{}]}}}}}}]}}",
            DEFAULTS.join(", ")
        );
        details(
            baseline,
            &[
                (&defaults, ""),
                ("spec: {containers: [{name: a, securityContext: {capabilities: {drop: [NET_RAW]}}}]}", ""),
                (
                    "spec:
                      initContainers: [{name: i, securityContext: {capabilities: {add: [SYS_ADMIN, KILL]}}}]
                      containers: [{name: a, securityContext: {capabilities: {add: [NET_RAW, SYS_ADMIN]}}}, {name: b}]",
                    r#"containers "i", "a" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add"#,
                ),
            ],
        );
    }

    #[test]
    fn restricted_wants_all_dropped_and_little_added() {
        let both = "spec:
          os: {name: windows}
          initContainers: [{name: i}]
          containers:
          - {name: a, securityContext: {capabilities: {drop: [NET_RAW], add: [KILL, CHOWN]}}}
          - {name: b, securityContext: {capabilities: {drop: [KILL, ALL], add: [NET_BIND_SERVICE]}}}";
        let refused = r#"containers "i", "a" must set securityContext.capabilities.drop=["ALL"]; container "a" must not include "CHOWN", "KILL" in securityContext.capabilities.add"#;
        let adds =
            "spec: {containers: [{name: a, securityContext: {capabilities: {drop: [ALL], add: [KILL]}}}]}";
        details(
            restricted,
            &[
                (both, refused),
                ("spec: {containers: [{name: a, securityContext: {capabilities: {drop: [ALL]}}}]}", ""),
                (
                    "spec: {containers: [{name: a, securityContext: {}}]}",
                    r#"container "a" must set securityContext.capabilities.drop=["ALL"]"#,
                ),
                (adds, r#"container "a" must not include "KILL" in securityContext.capabilities.add"#),
            ],
        );
        details(not_windows, &[(both, ""), (&both.replace("windows", "linux"), refused)]);
    }
}
