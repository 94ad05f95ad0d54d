//! Containers with rights over the node, and what contradicts them (HP-03).

use k8s_openapi::api::core::v1::SecurityContext;

use crate::api::{ApiOptions, Judged};
use crate::{Reason, Seen, Violation};

pub(crate) fn judge(
    pod: &Judged<'_>,
    container: &Seen<'_>,
    security: &SecurityContext,
    options: &ApiOptions,
    found: &mut Vec<Violation>,
) {
    let at = |child: &str| pod.container(container, child);
    let privileged = security.privileged == Some(true);
    if privileged && !options.allow_privileged {
        let message = "this cluster allows no privileged containers";
        found.push(Violation::forbidden(at("securityContext.privileged"), message));
    }
    if let Some((reason, value, message)) = proc_mount(pod, security) {
        found.push(Violation::new(reason, at("securityContext.procMount"), value, message));
    }
    if security.allow_privilege_escalation == Some(false) {
        let contradictions =
            privileged.then_some("privileged").into_iter().chain(system_administrators(security));
        found.extend(contradictions.map(|what| {
            let message = format!("allowPrivilegeEscalation must not be false together with {what}");
            Violation::invalid(at("securityContext"), whole(security), message)
        }));
    }
}

/// An unmasked /proc only for a pod whose users are not the host's.
fn proc_mount<'a>(
    pod: &Judged<'_>,
    security: &'a SecurityContext,
) -> Option<(Reason, &'a str, &'static str)> {
    match security.proc_mount.as_deref()? {
        "Default" => None,
        "Unmasked" if pod.spec.host_users == Some(false) => None,
        "Unmasked" => Some((Reason::FieldValueInvalid, "Unmasked", "needs hostUsers: false")),
        other => Some((Reason::FieldValueNotSupported, other, "must be Default or Unmasked")),
    }
}

/// One for each time that the capability is asked for.
fn system_administrators(security: &SecurityContext) -> impl Iterator<Item = &'static str> {
    let added = security.capabilities.iter().flat_map(|capabilities| capabilities.add.iter().flatten());
    added.filter(|name| *name == "CAP_SYS_ADMIN").map(|_| "CAP_SYS_ADMIN")
}

/// The value as it was written. (The API server shows it with the field names of its insides.)
fn whole(security: &SecurityContext) -> serde_json::Value {
    serde_json::to_value(security).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::api::tests::{found, found_with, pod};
    use crate::{ApiOptions, Subject};

    fn with(security: &Value) -> Subject {
        pod(&json!({"containers": [{"name": "c", "image": "i", "securityContext": security}]}))
    }

    // proves: HP-03 pure
    #[test]
    fn privileged_needs_a_cluster_that_allows_it() {
        let strict = ApiOptions { allow_privileged: false, ..ApiOptions::default() };
        let pod = with(&json!({"privileged": true}));
        assert_eq!(found(&pod), [""; 0]);
        assert_eq!(
            found_with(&pod, &strict),
            [r#"Forbidden spec.containers[0].securityContext.privileged """#]
        );
        assert_eq!(found_with(&with(&json!({"privileged": false})), &strict), [""; 0]);
    }

    #[test]
    fn no_escalation_and_full_rights_contradict_each_other() {
        let of = |privileged: bool, escalation: Option<bool>, add: &[&str]| {
            found(&with(&json!({
                "privileged": privileged, "allowPrivilegeEscalation": escalation, "capabilities": {"add": add},
            })))
            .len()
        };
        assert_eq!(of(true, Some(false), &[]), 1);
        assert_eq!(of(true, Some(false), &["CAP_SYS_ADMIN", "NET_ADMIN", "CAP_SYS_ADMIN"]), 3);
        assert_eq!(of(false, Some(false), &["CAP_SYS_ADMIN"]), 1);
        assert_eq!(of(false, Some(false), &["SYS_ADMIN"]), 0);
        assert_eq!(of(true, Some(true), &["CAP_SYS_ADMIN"]), 0);
        assert_eq!(of(true, None, &["CAP_SYS_ADMIN"]), 0);
        let found = found(&with(&json!({"privileged": true, "allowPrivilegeEscalation": false})));
        let value = r#"{"allowPrivilegeEscalation":false,"privileged":true}"#;
        assert_eq!(found, [format!("Invalid spec.containers[0].securityContext {value}")]);
    }

    #[test]
    fn an_unmasked_proc_needs_users_of_its_own() {
        let of = |mount: &str, users: Option<bool>| {
            let security = json!({"procMount": mount});
            let container = json!({"name": "c", "image": "i", "securityContext": security});
            found(&pod(&json!({"hostUsers": users, "containers": [container]})))
        };
        assert_eq!(of("Default", None), [""; 0]);
        assert_eq!(of("Unmasked", Some(false)), [""; 0]);
        let field = "spec.containers[0].securityContext.procMount";
        assert_eq!(of("Unmasked", None), [format!(r#"Invalid {field} "Unmasked""#)]);
        assert_eq!(of("Unmasked", Some(true)), [format!(r#"Invalid {field} "Unmasked""#)]);
        assert_eq!(of("Odd", Some(false)), [format!(r#"NotSupported {field} "Odd""#)]);
    }
}
