//! Manifests as clusters have them: every kind with a pod in it, of one to three containers, a few of them wrong.

use serde_json::{Value, json};

const KINDS: [(&str, &str); 8] = [
    ("v1", "Pod"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "ReplicationController"),
];
/// One in so many is a HostProcess pod, and one in so many of all is one without the host's network.
const HOST_PROCESS: usize = 5;
const WRONG: usize = 20;

pub(super) fn document(number: usize) -> Value {
    let (api_version, kind) = KINDS[number % KINDS.len()];
    let name = format!("workload-{number}");
    let metadata = json!({"name": name, "namespace": "default", "labels": labels(number),
        "annotations": {"example.test/owner": "team-a@example.test", "example.test/revision": format!("{number}")}});
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
    let template =
        |restart: &str| json!({"metadata": {"labels": labels(number)}, "spec": pod(number, restart)});
    let selector = json!({"matchLabels": labels(number)});
    object["spec"] = match kind {
        "Pod" => pod(number, "Always"),
        "Job" => json!({"backoffLimit": 3, "template": template("Never")}),
        "CronJob" => {
            json!({"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template("OnFailure")}}})
        }
        "DaemonSet" => json!({"selector": selector, "template": template("Always")}),
        "StatefulSet" => {
            json!({"replicas": 3, "serviceName": "web", "selector": selector, "template": template("Always")})
        }
        "ReplicationController" => {
            json!({"replicas": 2, "selector": labels(number), "template": template("Always")})
        }
        _ => json!({"replicas": 3, "selector": selector, "template": template("Always")}),
    };
    object
}

/// How many of the first documents the API server refuses.
pub(super) fn refused(documents: usize) -> usize {
    (0..documents).filter(|number| is_wrong(*number)).count()
}

fn is_wrong(number: usize) -> bool {
    number.is_multiple_of(WRONG)
}

fn labels(number: usize) -> Value {
    json!({"app.kubernetes.io/name": format!("workload-{number}"), "app.kubernetes.io/part-of": "shop", "tier": "backend"})
}

fn pod(number: usize, restart: &str) -> Value {
    let containers: Vec<_> = (0..=number % 3).map(|index| container(number, index)).collect();
    let mut spec = json!({"restartPolicy": restart, "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
        "containers": containers, "volumes": [{"name": "config", "configMap": {"name": "config"}}, {"name": "data", "emptyDir": {}}],
        "tolerations": [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}]});
    if number.is_multiple_of(HOST_PROCESS) {
        spec["os"] = json!({"name": "windows"});
        spec["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
        spec["hostNetwork"] = (!is_wrong(number)).into();
        spec["securityContext"] =
            json!({"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM"}});
    } else {
        spec["securityContext"] = json!({"runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}});
    }
    spec
}

fn container(number: usize, index: usize) -> Value {
    let port = 8000 + index;
    let mut container = json!({"name": format!("c{index}"), "image": format!("registry.example.test/shop/app-{index}:1.{number}"),
        "imagePullPolicy": "IfNotPresent", "command": ["/app/server"], "args": ["--listen=:8080", "--log-level=info"],
        "env": [{"name": "MODE", "value": "production"}, {"name": "REPLICA", "value": format!("{index}")},
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "256Mi"}},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": port}, "initialDelaySeconds": 5, "periodSeconds": 10},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app", "readOnly": true}, {"name": "data", "mountPath": "/data"}]});
    if !number.is_multiple_of(HOST_PROCESS) {
        container["ports"] = json!([{"name": format!("http-{index}"), "containerPort": port}]);
        container["securityContext"] =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    }
    container
}

/// The document in block style, as kubectl prints it.
pub(super) fn yaml(document: &Value) -> String {
    let mut text = String::new();
    block(document, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(entries) => {
            for (number, (key, value)) in entries.iter().enumerate() {
                let lead = if number == 0 { 0 } else { indent };
                text.push_str(&format!("{}{key}:", " ".repeat(lead)));
                nested(value, indent, text);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                text.push_str(&" ".repeat(if number == 0 { 0 } else { indent }));
                text.push_str("- ");
                block(item, indent + 2, text);
            }
        }
        scalar => text.push_str(&format!("{}\n", word(scalar))),
    }
}

fn nested(value: &Value, indent: usize, text: &mut String) {
    let (inner, empty) = match value {
        Value::Object(entries) => (indent + 2, entries.is_empty()),
        Value::Array(items) => (indent, items.is_empty()),
        scalar => return text.push_str(&format!(" {}\n", word(scalar))),
    };
    if empty {
        return text.push_str(&format!(" {value}\n"));
    }
    text.push_str(&format!("\n{}", " ".repeat(inner)));
    block(value, inner, text);
}

/// Text is quoted where YAML could take it for something else.
fn word(value: &Value) -> String {
    let plain = |text: &&str| {
        let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '/');
        first
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "./-_".contains(c))
            && !["true", "false"].contains(text)
    };
    value.as_str().filter(plain).map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_written_in_blocks() {
        let text = yaml(&json!({"a": [{"b": 1, "c": "x"}, {"d": {}}], "e": "1", "f": {"g": ["h", true]}}));
        assert_eq!(text, "a:\n- b: 1\n  c: x\n- d: {}\ne: \"1\"\nf:\n  g:\n  - h\n  - true\n");
    }

    #[test]
    fn one_in_twenty_is_wrong() {
        assert_eq!(refused(10_000), 500);
        assert_eq!(document(20)["spec"]["template"]["spec"]["hostNetwork"], false);
        assert_eq!(document(5)["spec"]["template"]["spec"]["hostNetwork"], true);
    }
}
