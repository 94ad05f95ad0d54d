use serde_json::{Value, json};

use crate::api::tests::{found, pod};

fn on(os: &str, spec: &Value) -> Vec<String> {
    let mut spec = spec.clone();
    spec["os"] = json!({"name": os});
    found(&pod(&spec))
}

#[test]
fn an_os_is_linux_or_windows() {
    assert_eq!(on("linux", &json!({})), [""; 0]);
    assert_eq!(on("windows", &json!({})), [""; 0]);
    assert_eq!(on("", &json!({})), [r#"Required spec.os.name """#]);
    assert_eq!(on("plan9", &json!({})), [r#"NotSupported spec.os "plan9""#]);
    assert_eq!(found(&pod(&json!({"os": {}}))), [r#"Required spec.os.name """#]);
}

#[test]
fn a_linux_pod_has_no_windows_options_not_even_empty_ones() {
    let context = json!({"windowsOptions": {}});
    let container = json!({"name": "c", "image": "i", "securityContext": context});
    let spec = json!({"securityContext": context, "containers": [{"name": "b"}, container], "initContainers": [container]});
    let at = |place: &str| format!(r#"Forbidden spec.{place}securityContext.windowsOptions """#);
    assert_eq!(on("linux", &spec), [at(""), at("initContainers[0]."), at("containers[1].")]);
    assert_eq!(on("windows", &spec), [""; 0]);
    assert_eq!(found(&pod(&spec)), [""; 0]);
}

/// What is set, and whether a Windows pod may have it.
fn pod_fields() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("hostUsers", json!(true), false),
        ("hostPID", json!(true), false),
        ("hostPID", json!(false), true),
        ("hostIPC", json!(true), false),
        ("hostIPC", json!(false), true),
        ("shareProcessNamespace", json!(false), false),
        ("resources", json!({}), false),
        ("hostNetwork", json!(true), true),
        ("subdomain", json!("s"), true),
    ]
}

fn pod_context_fields() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("appArmorProfile", json!({"type": "Unconfined"}), false),
        ("seLinuxOptions", json!({}), false),
        ("seccompProfile", json!({"type": "Unconfined"}), false),
        ("fsGroup", json!(0), false),
        ("fsGroupChangePolicy", json!("Always"), false),
        ("sysctls", json!([{"name": "kernel.shm_rmid_forced", "value": "1"}]), false),
        ("sysctls", json!([]), true),
        ("runAsUser", json!(0), false),
        ("runAsGroup", json!(0), false),
        ("supplementalGroups", json!([]), false),
        ("supplementalGroupsPolicy", json!("Merge"), false),
        ("seLinuxChangePolicy", json!("Recursive"), false),
        ("runAsNonRoot", json!(true), true),
    ]
}

fn container_context_fields() -> Vec<(&'static str, Value, bool)> {
    vec![
        ("appArmorProfile", json!({"type": "Unconfined"}), false),
        ("seLinuxOptions", json!({}), false),
        ("seccompProfile", json!({"type": "Unconfined"}), false),
        ("capabilities", json!({}), false),
        ("readOnlyRootFilesystem", json!(false), false),
        ("privileged", json!(false), false),
        ("allowPrivilegeEscalation", json!(false), false),
        ("procMount", json!("Default"), false),
        ("runAsUser", json!(0), false),
        ("runAsGroup", json!(0), false),
        ("runAsNonRoot", json!(false), true),
    ]
}

fn check(path: &str, spec: &Value, fine: bool) {
    let expected = if fine { vec![] } else { vec![format!(r#"Forbidden {path} """#)] };
    assert_eq!(on("windows", spec), expected, "{spec}");
    assert_eq!(on("linux", spec), [""; 0], "{spec}");
    assert_eq!(found(&pod(spec)), [""; 0], "{spec}");
}

#[test]
fn what_a_windows_pod_must_leave_out() {
    for (field, value, fine) in pod_fields() {
        check(&format!("spec.{field}"), &json!({ field: value }), fine);
    }
    for (field, value, fine) in pod_context_fields() {
        check(&format!("spec.securityContext.{field}"), &json!({"securityContext": {field: value}}), fine);
    }
}

#[test]
fn what_a_windows_container_must_leave_out() {
    for (field, value, fine) in container_context_fields() {
        let container = json!({"name": "c", "image": "i", "securityContext": {field: value}});
        let regular = json!({"containers": [{"name": "a"}, container]});
        check(&format!("spec.containers[1].securityContext.{field}"), &regular, fine);
        let init = json!({"initContainers": [container]});
        check(&format!("spec.initContainers[0].securityContext.{field}"), &init, fine);
    }
}

#[test]
fn the_order_is_the_api_servers() {
    let mut spec = json!({"hostPID": true, "shareProcessNamespace": false, "securityContext": {}});
    for (field, value, _) in pod_context_fields() {
        if spec["securityContext"].get(field).is_none() {
            spec["securityContext"][field] = value;
        }
    }
    let fields: Vec<_> = on("windows", &spec)
        .iter()
        .filter_map(|text| text.split(' ').nth(1)?.rsplit('.').next().map(str::to_owned))
        .collect();
    let expected = [
        "appArmorProfile",
        "seLinuxOptions",
        "hostPID",
        "seccompProfile",
        "fsGroup",
        "fsGroupChangePolicy",
        "sysctls",
        "shareProcessNamespace",
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ];
    assert_eq!(fields, expected);
}
