//! What `check` has to say about one object. `-o json` prints exactly this; other programs rely on it.

use rules::Violation;
use rules::pod_security::{Finding, Level};
use serde::{Serialize, Serializer};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    /// The file as the user named it; `-` for standard input.
    pub(super) source: &'a str,
    /// The document in the file, from 0.
    pub(super) index: usize,
    /// The member of the list, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) item: Option<usize>,
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) host_process: bool,
    pub(super) allowed: bool,
    pub(super) errors: Vec<Violation>,
    pub(super) warnings: Vec<Note>,
    pub(super) pod_security: PodSecurity,
    /// No pod in it: named and passed over.
    #[serde(skip)]
    pub(super) passed_over: bool,
}

/// A warning: words, and the field they are about.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) field: String,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct PodSecurity {
    pub(super) baseline: Verdict,
    pub(super) restricted: Verdict,
}

#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) violations: Vec<Finding>,
}

// === impl Note ===

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

// === impl PodSecurity ===

impl PodSecurity {
    /// For an object that has no pod, or none that could be read.
    pub(super) fn without_a_pod(allowed: bool) -> Self {
        let verdict = || Verdict { allowed, violations: Vec::new() };
        Self { baseline: verdict(), restricted: verdict() }
    }

    pub(super) fn of(&self, level: Level) -> &Verdict {
        match level {
            Level::Baseline => &self.baseline,
            Level::Restricted => &self.restricted,
        }
    }

    /// The strictest level whose namespaces take the pod.
    pub(super) fn strictest(&self) -> &'static str {
        match (self.restricted.allowed, self.baseline.allowed) {
            (true, _) => "restricted",
            (false, true) => "baseline",
            (false, false) => "privileged",
        }
    }
}

// === impl Verdict ===

impl From<Vec<Finding>> for Verdict {
    fn from(violations: Vec<Finding>) -> Self {
        Self { allowed: violations.is_empty(), violations }
    }
}
