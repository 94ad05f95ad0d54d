//! Pod Security: would a namespace of this level take the pod? (HP-19)
//!
//! The admission plugin's own words: the same ids, reasons and details for every policy version, so that what
//! `check` says offline is what a user finds in the cluster's refusal. A level is a table of [`Check`]s, each
//! with the revisions that policy versions brought.

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::Subject;

mod app_armor;
mod capabilities;
mod checks;
mod escalation;
mod host_namespaces;
mod host_ports;
mod host_process;
mod level;
mod pod;
mod prepare;
mod privileged;
mod probe_hosts;
mod proc_mount;
mod run_as;
mod seccomp;
mod selinux;
mod sysctls;
#[cfg(test)]
mod tests;
mod version;
mod volumes;
mod words;

pub use checks::{Check, table};
pub use level::{Level, LevelError};
pub use version::{Version, VersionError};

use pod::Pod;

/// A check that refused the pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub id: &'static str,
    /// The short cause, always said.
    pub reason: &'static str,
    /// Who did it, and what would be allowed.
    pub detail: String,
}

/// What the level refuses in this pod exactly as it is given, in the order in which the plugin says it.
pub fn evaluate(level: Level, version: Version, pod: &ObjectMeta, spec: &PodSpec) -> Vec<Finding> {
    let pod = Pod { metadata: pod, spec };
    checks::in_force(level, version)
        .filter_map(|(check, refuses)| {
            let refusal = refuses(&pod)?;
            Some(Finding { id: check.id, reason: refusal.reason, detail: refusal.detail })
        })
        .collect()
}

/// What the level refuses in the object as a user would send it: the API server fills some fields in before the
/// plugin looks, and that shows in its answer. The same as [`evaluate`] for an object that is already stored.
pub fn judge(level: Level, version: Version, subject: &Subject) -> Vec<Finding> {
    let spec = prepare::as_admitted(subject);
    evaluate(level, version, &subject.pod, &spec)
}

/// All findings in one line: `reason (detail), reason (detail)`.
pub fn message(findings: &[Finding]) -> String {
    let each = findings.iter().map(|Finding { reason, detail, .. }| format!("{reason} ({detail})"));
    each.collect::<Vec<_>>().join(", ")
}

/// How the plugin refuses a Pod, after `pods "NAME" is forbidden: `.
pub fn refusal(level: Level, version: Version, findings: &[Finding]) -> String {
    format!("violates PodSecurity \"{level}:{version}\": {}", message(findings))
}

/// How the plugin warns of an object that it lets in.
pub fn warning(level: Level, version: Version, findings: &[Finding]) -> String {
    format!("would violate PodSecurity \"{level}:{version}\": {}", message(findings))
}
