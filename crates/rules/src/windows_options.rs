//! `windowsOptions`, of the pod and of each container: group managed service accounts and the user name.

use k8s_openapi::api::core::v1::{SecurityContext, WindowsSecurityContextOptions};

use crate::api::Judged;
use crate::{Seen, Violation, dns, user_name};

/// The API server's text says "under 64 KiB"; it takes exactly 64 KiB too.
const LONGEST_SPEC: usize = 64 * 1024;

pub(crate) fn of_pod(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    let options = pod.spec.security_context.as_ref().and_then(|security| security.windows_options.as_ref());
    if let Some(options) = options {
        judge(options, |child| pod.field(&path(child)), found);
    }
}

pub(crate) fn of_container(
    pod: &Judged<'_>,
    container: &Seen<'_>,
    security: &SecurityContext,
    found: &mut Vec<Violation>,
) {
    if let Some(options) = &security.windows_options {
        judge(options, |child| pod.container(container, &path(child)), found);
    }
}

fn path(child: &str) -> String {
    format!("securityContext.windowsOptions.{child}")
}

fn judge(options: &WindowsSecurityContextOptions, at: impl Fn(&str) -> String, found: &mut Vec<Violation>) {
    if let Some(name) = &options.gmsa_credential_spec_name {
        let complain = |message| Violation::invalid(at("gmsaCredentialSpecName"), name.as_str(), message);
        found.extend(dns::subdomain(name).map(complain));
    }
    if let Some(spec) = &options.gmsa_credential_spec {
        let complain = |message| Violation::invalid(at("gmsaCredentialSpec"), spec.as_str(), message);
        found.extend(credential_spec(spec).map(complain));
    }
    if let Some(user) = &options.run_as_user_name {
        let complain = |message| Violation::invalid(at("runAsUserName"), user.as_str(), message);
        found.extend(user_name::complaints(user).into_iter().map(complain));
    }
}

/// Its content is not looked at: that is for the node.
fn credential_spec(spec: &str) -> Option<&'static str> {
    match spec.len() {
        0 => Some("must not be empty"),
        1..=LONGEST_SPEC => None,
        _ => Some("must be no more than 64 KiB"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::api::tests::{found, pod};

    fn on_pod(options: &Value) -> Vec<String> {
        found(&pod(&json!({"securityContext": {"windowsOptions": options}})))
    }

    #[test]
    fn a_credential_spec_is_told_by_its_length_alone() {
        let of = |length: usize| on_pod(&json!({"gmsaCredentialSpec": "x".repeat(length)})).len();
        assert_eq!([of(0), of(1), of(65536), of(65537)], [1, 0, 0, 1]);
        assert_eq!(super::credential_spec(""), Some("must not be empty"));
        let found = on_pod(&json!({"gmsaCredentialSpec": ""}));
        assert_eq!(found, [r#"Invalid spec.securityContext.windowsOptions.gmsaCredentialSpec """#]);
    }

    #[test]
    fn a_credential_spec_has_the_name_of_a_resource() {
        assert_eq!(on_pod(&json!({"gmsaCredentialSpecName": "webapp1-credspec"})), [""; 0]);
        let bad = on_pod(&json!({"gmsaCredentialSpecName": "Web_App"}));
        assert_eq!(bad, [r#"Invalid spec.securityContext.windowsOptions.gmsaCredentialSpecName "Web_App""#]);
    }

    #[test]
    fn pod_and_containers_are_judged_each_for_itself() {
        let context = json!({"windowsOptions": {"runAsUserName": "a@b"}});
        let container = json!({"name": "c", "image": "i", "securityContext": context});
        let pod = pod(&json!({
            "securityContext": context, "containers": [container], "initContainers": [container],
        }));
        let at = |place: &str| {
            format!(r#"Invalid spec.{place}securityContext.windowsOptions.runAsUserName "a@b""#)
        };
        assert_eq!(found(&pod), [at("containers[0]."), at("initContainers[0]."), at("")]);
    }
}
