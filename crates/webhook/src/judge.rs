//! What is allowed: the API server's own rules with the switch (HP-05), then the HostProcess policy.
//!
//! A pod that exists is never bricked: deleting is always allowed, and so is an update that leaves the pod's spec as it
//! was (labels, finalizers, owners, a deployment's scale), whatever the policy has become since. Nothing is lost by
//! that: the pods that a workload makes are judged when they are made. The ValidatingAdmissionPolicy draws the same line.

use rules::policy::{Asker, Decision, Policy};
use rules::{ApiOptions, Kind, Subject, Violation};
use serde_json::value::RawValue;

use crate::review::{Operation, Request, Verdict};

/// Everything that a verdict depends on beside the request.
#[derive(Debug)]
pub struct Judge {
    pub policy: Policy,
    pub options: ApiOptions,
}

/// A request that cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error("the request to {operation:?} a {kind} has no object")]
    NoObject { operation: Operation, kind: &'static str },
    #[error("the object is not a {kind}")]
    Object { kind: &'static str, source: serde_json::Error },
}

/// So many broken rules are told; the API server tells the rest once these are mended.
const TOLD: usize = 5;

// === impl Judge ===

impl Judge {
    pub fn judge(&self, request: &Request<'_>) -> Result<Verdict, JudgeError> {
        if matches!(request.operation, Operation::Delete | Operation::Connect) {
            return Ok(Verdict::allowed());
        }
        let Some(kind) = kind(request) else { return Ok(not_judged(request)) };
        let none = JudgeError::NoObject { operation: request.operation, kind: kind.name() };
        let subject = decode(kind, request.object.ok_or(none)?)?;
        if request.operation == Operation::Update && is_unchanged(&subject, request.old_object) {
            return Ok(Verdict::allowed());
        }
        Ok(self.subject(&subject, request))
    }

    fn subject(&self, subject: &Subject, request: &Request<'_>) -> Verdict {
        let broken =
            if rules::is_host_process(&subject.spec) { self.broken(subject, request) } else { vec![] };
        if !broken.is_empty() {
            let told = broken.iter().take(TOLD).map(|rule| format!("{}: {}", rule.field, rule.message));
            return refused(told.collect::<Vec<_>>().join("; "));
        }
        let asker = Asker { namespace: &request.namespace, user: Some(&request.user_info.username) };
        match self.policy.decide(subject, &asker) {
            Decision::Refused { message } => refused(message),
            Decision::Allowed { .. } | Decision::NotHostProcess => {
                Verdict::Allowed { warnings: warnings(subject) }
            }
        }
    }

    /// Only a pod that exists can have ephemeral containers.
    fn broken(&self, subject: &Subject, request: &Request<'_>) -> Vec<Violation> {
        match (request.operation, subject.kind) {
            (Operation::Update, Kind::Pod) => rules::api_ephemeral(subject, &self.options),
            _ => rules::api(subject, &self.options),
        }
    }
}

fn warnings(subject: &Subject) -> Vec<String> {
    rules::warnings(subject).iter().map(|warning| format!("{}: {}", warning.field, warning.message)).collect()
}

/// The request's kind, if it is one with a pod in it.
pub(crate) fn kind(request: &Request<'_>) -> Option<Kind> {
    Kind::of(&request.kind.api_version(), &request.kind.kind)
}

fn refused(message: impl Into<String>) -> Verdict {
    Verdict::Refused { message: message.into() }
}

/// A configuration that sends such things is wrong, and letting them pass could let a pod pass.
fn not_judged(request: &Request<'_>) -> Verdict {
    refused(format!(
        "porthole judges pods and what makes pods, not {} {}: correct the rules of the webhook's configuration",
        request.kind.api_version(),
        request.kind.kind
    ))
}

fn decode(kind: Kind, object: &RawValue) -> Result<Subject, JudgeError> {
    let mut reader = serde_json::Deserializer::from_str(object.get());
    Subject::decode(kind, &mut reader).map_err(|source| JudgeError::Object { kind: kind.name(), source })
}

/// Whether the pod's spec is as it was. An old object that cannot be read is no excuse.
fn is_unchanged(new: &Subject, old: Option<&RawValue>) -> bool {
    let Some(old) = old.and_then(|old| decode(new.kind, old).ok()) else { return false };
    old.spec == new.spec
}

#[cfg(test)]
mod tests;
