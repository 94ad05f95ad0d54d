//! The shared cases of the HostProcess policy: what `Policy::decide`, the webhook and the ValidatingAdmissionPolicy
//! must all say (CEL can say every one of them). They are data (`tests/data/policy-cases.yaml`); this reads them and makes the objects.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

const TEXT: &str = include_str!("../data/policy-cases.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cases {
    /// Documents of kind HostProcessPolicy, by the name that a case gives.
    pub(crate) policies: BTreeMap<String, String>,
    pub(crate) cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Case {
    /// What it shows; unique.
    pub(crate) name: String,
    pub(crate) policy: String,
    #[serde(default = "pod")]
    pub(crate) kind: String,
    /// The request's; every namespace that a case names must exist in a cluster.
    #[serde(default = "default")]
    pub(crate) namespace: String,
    /// The requester.
    #[serde(default = "admin")]
    pub(crate) user: String,
    #[serde(default = "yes")]
    host_process: bool,
    /// Image, or image and user of a container.
    #[serde(default = "allowed_image")]
    containers: Vec<Container>,
    #[serde(default)]
    init: Vec<Container>,
    /// These come by the pod's subresource, after the pod without them was created.
    #[serde(default)]
    ephemeral: Vec<Container>,
    #[serde(default)]
    pod_user: Option<String>,
    #[serde(default)]
    service_account: Option<String>,
    #[serde(default)]
    host_paths: Vec<String>,
    pub(crate) expect: Expect,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Container {
    image: String,
    #[serde(default)]
    user: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Expect {
    /// By this rule.
    Allowed(String),
    /// With a message that has this in it.
    Refused(String),
    NotHostProcess,
}

/// All of them.
pub(crate) fn cases() -> Cases {
    serde_saphyr::from_str(TEXT).expect("the cases can be read")
}

// === impl Case ===

impl Case {
    /// Whether a request like this is let through.
    pub(crate) fn passes(&self) -> bool {
        !matches!(self.expect, Expect::Refused(_))
    }

    /// The object as it is judged, ephemeral containers included.
    pub(crate) fn object(&self) -> Value {
        self.wrap(self.spec(true))
    }

    /// For a case of ephemeral containers: the pod that must be there first.
    pub(crate) fn pod_before(&self) -> Option<Value> {
        (!self.ephemeral.is_empty()).then(|| self.wrap(self.spec(false)))
    }

    /// A name for the object; short enough for a CronJob.
    fn slug(&self) -> String {
        let sign = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let mut slug: String = self.name.chars().map(sign).take(50).collect();
        slug.push('x');
        slug
    }

    fn spec(&self, ephemeral: bool) -> Value {
        let mut spec = json!({
            "hostNetwork": self.host_process,
            "containers": list("c", &self.containers),
            "initContainers": list("i", &self.init),
            "securityContext": {"windowsOptions": {"hostProcess": self.host_process}},
            "volumes": self.host_paths.iter().enumerate().map(volume).collect::<Vec<_>>(),
        });
        if ephemeral && !self.ephemeral.is_empty() {
            spec["ephemeralContainers"] = list("e", &self.ephemeral);
        }
        if let Some(user) = &self.pod_user {
            spec["securityContext"]["windowsOptions"]["runAsUserName"] = json!(user);
        }
        if let Some(account) = &self.service_account {
            spec["serviceAccountName"] = json!(account);
        }
        spec
    }

    fn wrap(&self, mut spec: Value) -> Value {
        let metadata = json!({"name": self.slug(), "namespace": self.namespace});
        let labels = json!({"app": "case"});
        let (version, kind) = match self.kind.as_str() {
            "Pod" => return json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}),
            kind @ ("PodTemplate" | "ReplicationController") => ("v1", kind),
            kind @ ("Job" | "CronJob") => ("batch/v1", kind),
            kind => ("apps/v1", kind),
        };
        if version == "batch/v1" {
            spec["restartPolicy"] = json!("Never");
        }
        let template = json!({"metadata": {"labels": labels}, "spec": spec});
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        match kind {
            "PodTemplate" => object["template"] = template,
            "ReplicationController" => object["spec"] = json!({"selector": labels, "template": template}),
            "Job" => object["spec"] = json!({"template": template}),
            "CronJob" => {
                let job = json!({"spec": {"template": template}});
                object["spec"] = json!({"schedule": "0 0 * * *", "jobTemplate": job});
            }
            _ => object["spec"] = json!({"selector": {"matchLabels": labels}, "template": template}),
        }
        if kind == "StatefulSet" {
            object["spec"]["serviceName"] = json!("case");
        }
        object
    }
}

fn list(prefix: &str, containers: &[Container]) -> Value {
    let container = |(i, container): (usize, &Container)| {
        let mut object = json!({"name": format!("{prefix}{i}"), "image": container.image});
        if let Some(user) = &container.user {
            object["securityContext"] = json!({"windowsOptions": {"runAsUserName": user}});
        }
        object
    };
    containers.iter().enumerate().map(container).collect()
}

fn volume((i, path): (usize, &String)) -> Value {
    json!({"name": format!("v{i}"), "hostPath": {"path": path}})
}

fn pod() -> String {
    "Pod".to_owned()
}

fn default() -> String {
    "default".to_owned()
}

fn admin() -> String {
    "admin".to_owned()
}

fn yes() -> bool {
    true
}

fn allowed_image() -> Vec<Container> {
    vec![Container { image: "registry.example/csi/driver:v1".to_owned(), user: None }]
}
