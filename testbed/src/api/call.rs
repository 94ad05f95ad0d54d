//! One request to the API server.

use anyhow::{Context, Result};
use http::Method;
use serde_json::Value;

/// Kinds without a namespace among those that tests make.
const CLUSTER: &[&str] = &[
    "ClusterRole",
    "ClusterRoleBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "RuntimeClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// A request, a dry run unless it says otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Value,
    pub(super) user: Option<String>,
    query: Vec<String>,
}

// === impl Call ===

impl Call {
    /// POST to the collection of the object's kind, in its namespace (or `default`).
    pub fn create(object: &Value) -> Result<Self> {
        Ok(Self::new(Method::POST, collection(object)?, object.clone()).dry_run())
    }

    /// PUT of the object itself.
    pub fn replace(object: &Value) -> Result<Self> {
        let path = format!("{}/{}", collection(object)?, name(object)?);
        Ok(Self::new(Method::PUT, path, object.clone()).dry_run())
    }

    /// PUT of a pod with the ephemeral containers it shall have; a pod of that name must be there.
    pub fn ephemeral(pod: &Value) -> Result<Self> {
        let mut call = Self::replace(pod)?;
        call.path.push_str("/ephemeralcontainers");
        Ok(call)
    }

    /// Server-side apply, forced: makes the object or changes it.
    pub fn apply(object: &Value) -> Result<Self> {
        let mut call = Self::replace(object)?;
        call.method = Method::PATCH;
        call.content_type = "application/apply-patch+yaml";
        call.query.extend(["fieldManager=testbed".to_owned(), "force=true".to_owned()]);
        Ok(call)
    }

    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path.into(), Value::Null)
    }

    /// Not a dry run: the object shall stay.
    #[must_use]
    pub fn for_real(mut self) -> Self {
        self.query.retain(|part| part != DRY_RUN);
        self
    }

    /// As this user, impersonated by the one who is connected.
    #[must_use]
    pub fn by(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// `Strict`, `Warn` or `Ignore`: what becomes of unknown and doubled fields.
    #[must_use]
    pub fn field_validation(mut self, how: &str) -> Self {
        self.query.push(format!("fieldValidation={how}"));
        self
    }

    pub(super) fn uri(&self) -> String {
        match self.query.as_slice() {
            [] => self.path.clone(),
            parts => format!("{}?{}", self.path, parts.join("&")),
        }
    }

    fn new(method: Method, path: String, body: Value) -> Self {
        Self { method, path, content_type: "application/json", body, user: None, query: Vec::new() }
    }

    fn dry_run(mut self) -> Self {
        self.query.push(DRY_RUN.to_owned());
        self
    }
}

const DRY_RUN: &str = "dryRun=All";

fn name(object: &Value) -> Result<&str> {
    object["metadata"]["name"].as_str().context("the object has no name")
}

fn collection(object: &Value) -> Result<String> {
    let api_version = object["apiVersion"].as_str().context("the object has no apiVersion")?;
    let kind = object["kind"].as_str().context("the object has no kind")?;
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let plural = plural(kind);
    if CLUSTER.contains(&kind) {
        return Ok(format!("/{root}/{api_version}/{plural}"));
    }
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    Ok(format!("/{root}/{api_version}/namespaces/{namespace}/{plural}"))
}

fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_way_to_each_kind() {
        let object = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "n"}});
        let uri = |api_version: &str, kind: &str| {
            Call::create(&object(api_version, kind)).expect("a call").for_real().uri()
        };
        assert_eq!(uri("v1", "Pod"), "/api/v1/namespaces/default/pods");
        assert_eq!(uri("v1", "Namespace"), "/api/v1/namespaces");
        assert_eq!(uri("batch/v1", "CronJob"), "/apis/batch/v1/namespaces/default/cronjobs");
        let policy = uri("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy");
        assert_eq!(policy, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies");
        let class = uri("node.k8s.io/v1", "RuntimeClass");
        assert_eq!(class, "/apis/node.k8s.io/v1/runtimeclasses");
        let ephemeral = Call::ephemeral(&object("v1", "Pod")).expect("a call").field_validation("Strict");
        let path = "/api/v1/namespaces/default/pods/n/ephemeralcontainers";
        assert_eq!(ephemeral.uri(), format!("{path}?dryRun=All&fieldValidation=Strict"));
    }

    #[test]
    fn an_object_without_kind_or_name_is_refused() {
        assert!(Call::create(&json!({"apiVersion": "v1"})).is_err());
        assert!(Call::replace(&json!({"apiVersion": "v1", "kind": "Pod"})).is_err());
    }
}
