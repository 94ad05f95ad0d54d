//! An API server's side of an admission webhook, without the API server: certificates, calls, load.
//!
//! Calls are made by threads over plain TLS streams, so that what is measured is the webhook and not a client's pool.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

mod caller;
mod certificates;
mod load;
mod program;

pub use caller::{Answer, Caller};
pub use certificates::{Ca, Pair};
pub use load::{Load, Outcome};
pub use program::Program;

/// Where a webhook is, and whom to trust about it.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    /// PEM.
    pub ca: String,
}

/// A HostProcess pod of the size that agents have.
pub fn sample(namespace: &str) -> Value {
    let container = json!({
        "name": "agent", "image": "registry.test/agent:1", "args": ["--verbose"],
        "env": (0..40).map(|i| json!({"name": format!("VARIABLE_{i}"), "value": "x".repeat(40)})).collect::<Vec<_>>(),
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "agent", "namespace": namespace, "labels": {"app": "agent"}},
        "spec": {
            "hostNetwork": true, "os": {"name": "windows"},
            "securityContext": {"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
            "containers": [container], "volumes": [{"name": "data", "emptyDir": {}}],
        },
    })
}

/// A review of an object by somebody, as the API server would send it.
pub fn review(uid: &str, object: &Value, user: &str) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": format!("{}s", kind.to_lowercase())},
            "name": object["metadata"]["name"].as_str().unwrap_or_default(),
            "namespace": object["metadata"]["namespace"].as_str().unwrap_or("default"),
            "operation": "CREATE",
            "userInfo": {"username": user, "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": null,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
        }
    })
}

/// The response of the review in an answer, which must be one to this uid.
pub fn response(answer: &Answer, uid: &str) -> Result<Value> {
    ensure!(answer.status == 200, "status {}: {}", answer.status, answer.text());
    let review: Value = serde_json::from_slice(&answer.body).context("parse the answer")?;
    let response = review["response"].clone();
    ensure!(response["uid"] == uid, "asked about {uid}, answered {review}");
    Ok(response)
}

/// The most memory that a process ever had resident, in MiB.
pub fn peak_rss_mib(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .with_context(|| format!("no VmHWM in {path}"))?;
    Ok(f64::from(kib.parse::<u32>()?) / 1024.0)
}
