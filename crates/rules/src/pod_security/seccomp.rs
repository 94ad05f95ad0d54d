//! `seccompProfile`: baseline refuses to switch it off, by annotation before v1.19 and by field since; restricted
//! wants a profile named.

use k8s_openapi::api::core::v1::SeccompProfile;

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, annotation, containers, joined, plural, quoted, refusal, setters};

pub(super) const FIELDS: &[&str] = &[
    "spec.securityContext.seccompProfile.type",
    "spec.containers[*].securityContext.seccompProfile.type",
    "spec.os.name",
];

pub(super) const BASELINE_FIELDS: &[&str] = &[
    "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]",
    "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/*]",
    "spec.securityContext.seccompProfile.type",
    "spec.containers[*].securityContext.seccompProfile.type",
];

const POD_KEY: &str = "seccomp.security.alpha.kubernetes.io/pod";
const CONTAINER_KEY: &str = "container.seccomp.security.alpha.kubernetes.io/";
const REASON: &str = "seccompProfile";

pub(super) fn annotations(pod: &Pod<'_>) -> Option<Refusal> {
    let keys = pod.containers().map(|c| format!("{CONTAINER_KEY}{}", c.name));
    let values = [POD_KEY.to_owned()].into_iter().chain(keys);
    let values = values.filter_map(|key| Some((pod.annotation(&key)?, key)));
    let bad = values.filter(|(value, _)| !is_safe(value));
    let bad: Values = bad.map(|(value, key)| annotation(&key, value)).collect();
    let detail = format!("forbidden {} ", plural("annotation", bad.len()));
    (!bad.is_empty()).then(|| refusal(REASON, detail + &joined(bad)))
}

pub(super) fn baseline(pod: &Pod<'_>) -> Option<Refusal> {
    let (by_pod, own) = (profile_of_pod(pod), |c: &Container<'_>| unsafe_type(profile_of(c)).is_some());
    let who = setters(unsafe_type(by_pod).is_some(), containers(pod.containers().filter(own)))?;
    let all = pod.containers().map(|c| profile_of(&c)).chain([by_pod]);
    let types: Values<_> = all.filter_map(unsafe_type).collect();
    let detail = format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(types));
    Some(refusal(REASON, detail))
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Refusal> {
    if let Some(off) = baseline(pod) {
        return Some(off);
    }
    if profile_of_pod(pod).is_some() {
        return None;
    }
    let who = containers(pod.containers().filter(|c| profile_of(c).is_none()))?;
    let wanted = "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
    Some(refusal(REASON, format!("pod or {who} {wanted}")))
}

pub(super) fn not_windows(pod: &Pod<'_>) -> Option<Refusal> {
    if pod.is_windows() { None } else { restricted(pod) }
}

fn profile_of_pod<'a>(pod: &Pod<'a>) -> Option<&'a SeccompProfile> {
    pod.security()?.seccomp_profile.as_ref()
}

fn profile_of<'a>(container: &Container<'a>) -> Option<&'a SeccompProfile> {
    container.security?.seccomp_profile.as_ref()
}

fn unsafe_type(profile: Option<&SeccompProfile>) -> Option<&str> {
    profile
        .map(|profile| profile.type_.as_str())
        .filter(|kind| !["RuntimeDefault", "Localhost"].contains(kind))
}

fn is_safe(value: &str) -> bool {
    ["runtime/default", "docker/default"].contains(&value) || value.starts_with("localhost/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn before_1_19_only_annotations_of_the_pod_and_its_containers_count() {
        let pod = |annotations: &str| {
            format!(
                "{{metadata: {{annotations: {{{annotations}}}}}, spec: {{containers: [{{name: a}}, {{name: b}}]}}}}"
            )
        };
        details(
            annotations,
            &[
                ("spec: {containers: [{name: a}]}", ""),
                (
                    &pod(&format!(
                        "{POD_KEY}: runtime/default, {CONTAINER_KEY}a: docker/default, {CONTAINER_KEY}b: localhost/x"
                    )),
                    "",
                ),
                (&pod(&format!("{CONTAINER_KEY}c: unconfined")), ""),
                (
                    &pod(&format!("{POD_KEY}: unconfined")),
                    &format!("forbidden annotation {POD_KEY}=\"unconfined\""),
                ),
                (
                    &pod(&format!("{POD_KEY}: unconfined, {CONTAINER_KEY}b: x, {CONTAINER_KEY}a: ''")),
                    &format!(
                        "forbidden annotations {CONTAINER_KEY}a=\"\", {CONTAINER_KEY}b=\"x\", {POD_KEY}=\"unconfined\""
                    ),
                ),
            ],
        );
    }

    #[test]
    fn baseline_refuses_only_what_is_said() {
        details(
            baseline,
            &[
                ("spec: {containers: [{name: a}]}", ""),
                ("spec: {securityContext: {seccompProfile: {type: Localhost}}, containers: []}", ""),
                (
                    "spec: {containers: [{name: a, securityContext: {seccompProfile: {type: Unconfined}}}]}",
                    r#"container "a" must not set securityContext.seccompProfile.type to "Unconfined""#,
                ),
                (
                    "spec:
                      securityContext: {seccompProfile: {type: Zero}}
                      containers:
                      - {name: a, securityContext: {seccompProfile: {type: RuntimeDefault}}}
                      - {name: b, securityContext: {seccompProfile: {type: Unconfined}}}",
                    r#"pod and container "b" must not set securityContext.seccompProfile.type to "Unconfined", "Zero""#,
                ),
            ],
        );
    }

    #[test]
    fn restricted_wants_a_word_for_every_container() {
        let bad = "spec:
          os: {name: windows}
          securityContext: {seccompProfile: {type: Unconfined}}
          containers: [{name: a}]";
        let refused = r#"pod must not set securityContext.seccompProfile.type to "Unconfined""#;
        details(
            restricted,
            &[
                (bad, refused),
                (
                    "spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}, containers: [{name: a}]}",
                    "",
                ),
                ("spec: {containers: [{name: a, securityContext: {seccompProfile: {type: Localhost}}}]}", ""),
                (
                    "spec:
                      initContainers: [{name: i, securityContext: {seccompProfile: {type: Localhost}}}]
                      containers: [{name: a}, {name: b, securityContext: {}}]",
                    r#"pod or containers "a", "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#,
                ),
            ],
        );
        details(not_windows, &[(bad, ""), (&bad.replace("windows", "linux"), refused)]);
    }
}
