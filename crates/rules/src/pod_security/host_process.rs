//! `windowsHostProcess`: no level but privileged takes a HostProcess pod (HP-19).

use k8s_openapi::api::core::v1::WindowsSecurityContextOptions;

use super::pod::{Container, Pod};
use super::words::{Refusal, containers, refusal, setters};

pub(super) const FIELDS: &[&str] = &[
    "spec.securityContext.windowsOptions.hostProcess",
    "spec.containers[*].securityContext.windowsOptions.hostProcess",
];

pub(super) fn refuses(pod: &Pod<'_>) -> Option<Refusal> {
    let by_pod = is_set(pod.security().and_then(|s| s.windows_options.as_ref()));
    let own = |c: &Container<'_>| is_set(c.security.and_then(|s| s.windows_options.as_ref()));
    let who = setters(by_pod, containers(pod.containers().filter(own)))?;
    let detail = format!("{who} must not set securityContext.windowsOptions.hostProcess=true");
    Some(refusal("hostProcess", detail))
}

fn is_set(options: Option<&WindowsSecurityContextOptions>) -> bool {
    options.and_then(|options| options.host_process) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    // proves: HP-19 pure
    #[test]
    fn pod_and_containers_are_named_as_setters() {
        let on = "securityContext: {windowsOptions: {hostProcess: true}}";
        let off = "securityContext: {windowsOptions: {hostProcess: false}}";
        let tail = "must not set securityContext.windowsOptions.hostProcess=true";
        details(
            refuses,
            &[
                (&format!("spec: {{{off}, containers: [{{name: a, {off}}}, {{name: b}}]}}"), ""),
                (&format!("spec: {{{on}, containers: [{{name: a}}]}}"), &format!("pod {tail}")),
                (&format!("spec: {{containers: [{{name: a, {on}}}]}}"), &format!("container \"a\" {tail}")),
                (
                    &format!(
                        "spec: {{{on}, containers: [{{name: a, {on}}}], ephemeralContainers: [{{name: e, {on}}}]}}"
                    ),
                    &format!("pod and containers \"a\", \"e\" {tail}"),
                ),
            ],
        );
    }
}
