//! One object in, what there is to say about it out.

use rules::decode::{Object, Read};
use rules::pod_security::{self, Level, Version};
use rules::policy::{Asker, Decision, Policy};
use rules::{ApiOptions, Reason, Subject, Violation};

use super::entry::{Entry, Note, PodSecurity};

/// What is demanded.
#[derive(Debug)]
pub(super) struct Judge {
    pub(super) api: ApiOptions,
    pub(super) level: Option<Level>,
    pub(super) version: Version,
    pub(super) policy: Option<Policy>,
}

/// The namespace of an object that names none; kubectl may be told another.
const NAMESPACE: &str = "default";

// === impl Judge ===

impl Judge {
    pub(super) fn entry<'a>(&self, source: &'a str, index: usize, object: &Object<'a, '_>) -> Entry<'a> {
        let mut entry = Entry {
            source,
            index,
            item: object.item,
            kind: object.kind(),
            namespace: object.namespace(),
            name: object.name(),
            host_process: false,
            allowed: true,
            errors: Vec::new(),
            warnings: Vec::new(),
            pod_security: PodSecurity::without_a_pod(true),
            passed_over: false,
        };
        match object.read() {
            Ok(Read::Subject { subject, unknown }) => self.judge(&mut entry, &subject, unknown),
            Ok(Read::PassedOver) => pass_over(&mut entry, object.api_version()),
            Err(error) => refuse(&mut entry, error),
        }
        entry
    }

    fn judge(&self, entry: &mut Entry<'_>, subject: &Subject, unknown: Vec<String>) {
        entry.host_process = rules::is_host_process(&subject.spec);
        entry.errors = rules::api(subject, &self.api);
        entry.errors.extend(self.by_policy(subject));
        entry.warnings.extend(unknown.into_iter().map(unknown_field));
        entry.warnings.extend(rules::warnings(subject).into_iter().map(Note::from));
        let [baseline, restricted] =
            Level::ALL.map(|level| pod_security::judge(level, self.version, subject).into());
        entry.pod_security = PodSecurity { baseline, restricted };
        let level = self.level.is_none_or(|level| entry.pod_security.of(level).allowed);
        entry.allowed = level && entry.errors.is_empty();
    }

    /// The policy's refusal, in the form that the API server gives to a rule broken.
    fn by_policy(&self, subject: &Subject) -> Option<Violation> {
        let namespace =
            subject.metadata.namespace.as_deref().filter(|name| !name.is_empty()).unwrap_or(NAMESPACE);
        match self.policy.as_ref()?.decide(subject, &Asker { namespace, user: None }) {
            Decision::Refused { message } => Some(Violation {
                reason: Reason::FieldValueForbidden,
                field: subject.kind.spec_path().to_owned(),
                value: "".into(),
                message,
            }),
            Decision::Allowed { .. } | Decision::NotHostProcess => None,
        }
    }
}

fn refuse(entry: &mut Entry<'_>, error: Violation) {
    entry.allowed = false;
    entry.errors.push(error);
    entry.pod_security = PodSecurity::without_a_pod(false);
}

fn pass_over(entry: &mut Entry<'_>, api_version: &str) {
    entry.passed_over = true;
    let text = format!("kind {:?} of {api_version:?} has no pod that is known here: passed over", entry.kind);
    entry.warnings.push(Note { field: "kind".to_owned(), text });
}

fn unknown_field(field: String) -> Note {
    Note { text: format!("unknown field {field:?}"), field }
}

// === impl Note ===

impl From<rules::Warning> for Note {
    fn from(warning: rules::Warning) -> Self {
        Self { text: warning.to_string(), field: warning.field }
    }
}
