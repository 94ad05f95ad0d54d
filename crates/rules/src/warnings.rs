//! What the API server takes and what then does nothing, or not what its author thinks, on HostProcess pods (HP-31).
//!
//! None of it refuses a pod. `check` and the webhook say it, because nobody else does.

use k8s_openapi::api::core::v1::PodSpec;
use serde::Serialize;

use crate::{Kind, Subject, is_host_process};

mod container;
mod pod;

/// A field that deserves a second look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The path of the field, as the API server writes it.
    pub field: String,
    pub message: &'static str,
}

/// An annotation of the first proposals. Nothing grants HostProcess but the field.
const ALPHA_ANNOTATION: &str = "microsoft.com/hostprocess-container";

/// Everything worth saying about the object.
pub fn warnings(subject: &Subject) -> Vec<Warning> {
    let mut found = Found { kind: subject.kind, warnings: Vec::new() };
    if is_host_process(&subject.spec) {
        pod::warn(&subject.spec, &mut found);
        container::warn(&subject.spec, &mut found);
        return found.warnings;
    }
    if subject.pod.annotations.as_ref().is_some_and(|all| all.contains_key(ALPHA_ANNOTATION)) {
        let field = format!("{}metadata.annotations[{ALPHA_ANNOTATION}]", template(subject.kind));
        let message = "makes no HostProcess container; only windowsOptions.hostProcess does";
        found.warnings.push(Warning { field, message });
    }
    if is_for_windows(&subject.spec) {
        container::warn_privileged(&subject.spec, &mut found);
    }
    found.warnings
}

fn is_for_windows(spec: &PodSpec) -> bool {
    let os = spec.os.as_ref().is_some_and(|os| os.name == "windows");
    os || selects_windows(spec)
}

fn selects_windows(spec: &PodSpec) -> bool {
    let selector = spec.node_selector.as_ref();
    selector.and_then(|labels| labels.get("kubernetes.io/os")).is_some_and(|os| os == "windows")
}

/// Where the pod's own metadata is.
fn template(kind: Kind) -> &'static str {
    kind.spec_path().strip_suffix("spec").unwrap_or_default()
}

/// Warnings so far, and where the pod's spec is in the object.
#[derive(Debug)]
struct Found {
    kind: Kind,
    warnings: Vec<Warning>,
}

// === impl Found ===

impl Found {
    fn add(&mut self, path: &str, message: &'static str) {
        let field = format!("{}.{path}", self.kind.spec_path());
        self.warnings.push(Warning { field, message });
    }
}

// === impl Warning ===

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

#[cfg(test)]
mod tests;
