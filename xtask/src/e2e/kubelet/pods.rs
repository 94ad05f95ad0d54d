//! The pods that a kubelet is given. All are HostProcess ones on the twin: in the host's network, by handler.

use serde_json::{Value, json};
use testbed::cri::HOSTPROCESS;
use testbed::cri::stand_ins::{BUSYBOX, NGINX};

/// A pod of one container that runs this shell line.
pub(super) fn shell(name: &str, line: &str) -> Value {
    pod(name, json!({"name": "main", "image": BUSYBOX, "command": ["sh", "-c", line]}))
}

/// A web server at port 80.
pub(super) fn web(name: &str) -> Value {
    pod(name, json!({"name": "main", "image": NGINX}))
}

/// A shell that reads what somebody who attaches types.
pub(super) fn listening(name: &str) -> Value {
    pod(name, json!({"name": "main", "image": BUSYBOX, "command": ["sh"], "stdin": true}))
}

/// As an API server takes it: by a class, and without a grace period that would only cost time.
pub(super) fn classed(mut pod: Value) -> Value {
    pod["spec"]["runtimeClassName"] = HOSTPROCESS.into();
    pod
}

pub(super) fn runtime_class() -> Value {
    json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": HOSTPROCESS},
           "handler": HOSTPROCESS})
}

fn pod(name: &str, container: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"hostNetwork": true, "terminationGracePeriodSeconds": 2, "tolerations": [{"operator": "Exists"}],
                 "containers": [container]},
    })
}
