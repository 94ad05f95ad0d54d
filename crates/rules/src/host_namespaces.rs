//! Namespaces of the host: what may not be shared together.

use crate::Violation;
use crate::api::Judged;

/// One process namespace for the pod, or the host's: not both.
pub(crate) fn share_process_namespace(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    if pod.spec.share_process_namespace == Some(true) && pod.spec.host_pid == Some(true) {
        // The API server looks for it in the security context, where it has it inside.
        let field = pod.field("securityContext.shareProcessNamespace");
        found.push(Violation::invalid(field, true, "must not be true together with hostPID"));
    }
}

/// A pod with users of its own shares no other namespace with the host, its network included (HP-02).
pub(crate) fn host_users(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    if pod.spec.host_users != Some(false) {
        return;
    }
    // The capitals are the API server's.
    let shared = [
        ("hostNetwork", pod.spec.host_network),
        ("HostPID", pod.spec.host_pid),
        ("HostIPC", pod.spec.host_ipc),
    ];
    let shared = shared.iter().filter(|(_, value)| *value == Some(true));
    let message = "must not be true when hostUsers is false";
    found.extend(shared.map(|(field, _)| Violation::forbidden(pod.field(field), message)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::api::tests::{found, pod};

    #[test]
    fn the_hosts_processes_and_the_pods_own_are_not_shared_at_once() {
        for (share, host, count) in [(true, true, 1), (true, false, 0), (false, true, 0), (false, false, 0)] {
            let found = found(&pod(&json!({"shareProcessNamespace": share, "hostPID": host})));
            assert_eq!(found.len(), count, "{share} {host} {found:?}");
            let expected = "Invalid spec.securityContext.shareProcessNamespace true";
            assert!(found.iter().all(|text| text == expected), "{found:?}");
        }
    }

    #[test]
    fn users_of_its_own_go_with_no_namespace_of_the_host() {
        let of = |users: bool, network: bool| {
            found(&pod(
                &json!({"hostUsers": users, "hostNetwork": network, "hostPID": network, "hostIPC": network}),
            ))
        };
        let all = ["hostNetwork", "HostPID", "HostIPC"].map(|field| format!(r#"Forbidden spec.{field} """#));
        assert_eq!(of(false, true), all);
        assert_eq!(of(false, false), [""; 0]);
        assert_eq!(of(true, true), [""; 0]);
        assert_eq!(found(&pod(&json!({"hostNetwork": true}))), [""; 0]);
    }
}
