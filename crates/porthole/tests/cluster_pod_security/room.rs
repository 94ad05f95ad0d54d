//! Namespaces with a policy, and what we say each would answer.

use rules::pod_security::{Finding, Level, Version, judge, refusal, warning};
use rules::{Kind, Subject};
use serde_json::{Value, json};
use testbed::api::Answer;

/// Where most changed: nothing but annotations, the last before fields, before Windows was told apart, and since.
const VERSIONS: &[&str] = &["latest", "v1.0", "v1.18", "v1.24", "v1.31", "v1.34", "v1.99"];

/// A namespace.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub(crate) name: String,
    /// Privileged if there is none.
    enforce: Option<(Level, Version)>,
    warn: (Level, Version),
}

/// What is said to an object, as far as Pod Security says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Refused(String),
    Taken {
        warning: Option<String>,
    },
    /// Anything else: not a case for Pod Security.
    Other(String),
}

/// Each version in both levels. What a room lets in, it then warns of by another policy; the last lets all in.
pub(crate) fn rooms() -> Vec<Room> {
    let versions = VERSIONS.iter().map(|text| text.parse().expect("a version"));
    let shifted = versions.clone().cycle().skip(2);
    let pairs = versions.zip(shifted);
    let rooms = pairs.flat_map(|(version, other)| {
        let both = [(Level::Baseline, Level::Restricted), (Level::Restricted, Level::Baseline)];
        both.map(|(level, warn)| Room::new(Some((level, version)), (warn, other)))
    });
    rooms.chain([Room::new(None, (Level::Restricted, Version::Latest))]).collect()
}

// === impl Room ===

impl Room {
    fn new(enforce: Option<(Level, Version)>, warn: (Level, Version)) -> Self {
        let name = enforce.map_or_else(|| "open".to_owned(), |(level, version)| format!("{level}-{version}"));
        Self { name: name.replace('.', "-"), enforce, warn }
    }

    /// Whether it is for privileged pods.
    pub(crate) fn is_open(&self) -> bool {
        self.enforce.is_none()
    }

    pub(crate) fn labels(&self) -> Value {
        let label = |what: &str| format!("pod-security.kubernetes.io/{what}");
        let mut labels = json!({label("enforce"): "privileged"});
        if let Some((level, version)) = self.enforce {
            labels[label("enforce")] = json!(level);
            labels[label("enforce-version")] = json!(version);
        }
        labels[label("warn")] = json!(self.warn.0);
        labels[label("warn-version")] = json!(self.warn.1);
        labels
    }

    /// What we say to the object, and which findings that comes from.
    pub(crate) fn verdict(&self, object: &Value) -> (Said, Vec<Finding>) {
        let text = |key: &str| object[key].as_str().expect("a text");
        let kind = Kind::of(text("apiVersion"), text("kind")).expect("a kind with a pod");
        let subject = Subject::decode(kind, object).expect("decodes");
        // Only pods are refused: a template is still far from one.
        if let Some((level, version)) = self.enforce.filter(|_| !kind.is_template()) {
            let findings = judge(level, version, &subject);
            if !findings.is_empty() {
                let name = subject.metadata.name.unwrap_or_default();
                let why = refusal(level, version, &findings);
                return (Said::Refused(format!("pods \"{name}\" is forbidden: {why}")), findings);
            }
        }
        let (level, version) = self.warn;
        let findings = judge(level, version, &subject);
        let warning = (!findings.is_empty()).then(|| warning(level, version, &findings));
        (Said::Taken { warning }, findings)
    }

    /// How many policies were asked to come to this: a refusal is the end.
    pub(crate) fn evaluations(&self, said: &Said) -> usize {
        match (said, self.enforce) {
            (Said::Taken { .. }, Some(_)) => 2,
            _ => 1,
        }
    }
}

// === impl Said ===

impl From<&Answer> for Said {
    fn from(answer: &Answer) -> Self {
        let mut warnings = answer.warnings.iter().filter(|text| text.contains("violate PodSecurity"));
        match answer.code {
            200 | 201 => Self::Taken { warning: warnings.next().cloned() },
            403 => Self::Refused(answer.message().to_owned()),
            code => Self::Other(format!("{code}: {}", answer.message())),
        }
    }
}
