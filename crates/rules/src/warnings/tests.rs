use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::*;

fn fields(kind: Kind, object: serde_json::Value) -> Vec<String> {
    let subject = Subject::decode(kind, &object).expect("decodes");
    warnings(&subject).into_iter().map(|warning| warning.field).collect()
}

fn pod(mut spec: serde_json::Value) -> Vec<String> {
    let quiet = json!({"hostNetwork": true, "os": {"name": "windows"}, "nodeSelector": {"kubernetes.io/os": "windows"},
                       "securityContext": {"windowsOptions": {"hostProcess": true}}, "containers": [{"name": "c"}]});
    for (key, value) in quiet.as_object().expect("an object") {
        match (&mut spec[key], value) {
            (own @ serde_json::Value::Null, value) => *own = value.clone(),
            (serde_json::Value::Object(own), serde_json::Value::Object(value)) => own.extend(value.clone()),
            _ => {}
        }
    }
    fields(Kind::Pod, json!({"apiVersion": "v1", "kind": "Pod", "spec": spec}))
}

// proves: HP-31 pure
#[test]
fn fields_without_effect_are_named() {
    assert_eq!(pod(json!({})), [""; 0]);
    assert_eq!(pod(json!({"hostPID": true, "hostIPC": true})), ["spec.hostPID", "spec.hostIPC"]);
    assert_eq!(pod(json!({"dnsPolicy": "Default"})), [""; 0]);
    assert_eq!(
        pod(json!({"dnsPolicy": "ClusterFirst", "hostAliases": [{"ip": "1.1.1.1"}]})),
        ["spec.dnsPolicy", "spec.hostAliases"]
    );
    assert_eq!(
        pod(json!({"securityContext": {"runAsUser": 1, "fsGroup": 2}})),
        ["spec.securityContext.runAsUser", "spec.securityContext.fsGroup"]
    );
    let security =
        json!({"privileged": true, "capabilities": {}, "readOnlyRootFilesystem": true, "seLinuxOptions": {}});
    assert_eq!(
        pod(json!({"initContainers": [{"name": "i", "securityContext": security}]})),
        [
            "spec.initContainers[0].securityContext.privileged",
            "spec.initContainers[0].securityContext.capabilities",
            "spec.initContainers[0].securityContext.readOnlyRootFilesystem",
            "spec.initContainers[0].securityContext.seLinuxOptions",
        ]
    );
    let container = json!({"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 81}],
                           "volumeMounts": [{"name": "v", "mountPath": "/v", "mountPropagation": "Bidirectional"}]});
    assert_eq!(
        pod(json!({"containers": [container]})),
        [
            "spec.containers[0].ports[0]",
            "spec.containers[0].ports[1]",
            "spec.containers[0].volumeMounts[0].mountPropagation"
        ]
    );
}

#[test]
fn volumes_that_cannot_be_had() {
    let volumes = json!([{"name": "f", "flexVolume": {"driver": "d"}},
                         {"name": "p", "hostPath": {"path": "//./pipe/containerd-containerd"}},
                         {"name": "s", "hostPath": {"path": "/run/s", "type": "Socket"}},
                         {"name": "d", "hostPath": {"path": "C:\\logs"}}]);
    assert_eq!(
        pod(json!({"volumes": volumes})),
        ["spec.volumes[0].flexVolume", "spec.volumes[1].hostPath.path", "spec.volumes[2].hostPath.type"]
    );
}

#[test]
fn where_it_will_run_must_be_said() {
    let spec = json!({"hostNetwork": true, "containers": [{"name": "c", "securityContext": {"windowsOptions": {"hostProcess": true}}}]});
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}}});
    assert_eq!(
        fields(Kind::Deployment, deployment),
        ["spec.template.spec.nodeSelector", "spec.template.spec.os"]
    );
    let mut named = spec;
    named["nodeName"] = "n".into();
    named["os"] = json!({"name": "windows"});
    assert_eq!(fields(Kind::Pod, json!({"apiVersion": "v1", "kind": "Pod", "spec": named})), [""; 0]);
}

// proves: HP-31 pure
#[test]
fn privileged_never_makes_a_host_process_pod() {
    let pod: Pod = serde_json::from_value(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"annotations": {"microsoft.com/hostprocess-container": "true"}},
        "spec": {"os": {"name": "windows"}, "containers": [{"name": "c", "securityContext": {"privileged": true}}]}}))
    .expect("a pod");
    let subject = Subject::from(pod);
    assert!(!is_host_process(&subject.spec));
    let said: Vec<_> = warnings(&subject).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "metadata.annotations[microsoft.com/hostprocess-container]: makes no HostProcess container; only windowsOptions.hostProcess does",
            "spec.containers[0].securityContext.privileged: has no effect on Windows: windowsOptions.hostProcess is what makes a HostProcess container",
        ]
    );
}
