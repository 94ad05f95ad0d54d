//! Who may run HostProcess pods at all: the cluster owner's word, default deny (KA-11).
//!
//! Kubernetes once had PodSecurityPolicy for this; Pod Security can only forbid HostProcess pods to a whole
//! namespace. `check --policy`, the webhook and the ValidatingAdmissionPolicy that `porthole manifests policies`
//! renders all judge by this module: the first two call [`Policy::decide`], the last uses the same expressions
//! ([`List::regex`], [`endpoint`]) in CEL.

use crate::{Subject, is_host_process};

pub mod endpoint;
mod error;
mod image;
mod list;
mod parse;
mod path;
mod pod;

pub use error::PolicyError;
pub use list::List;
pub use path::UNCLEAR;

use pod::Judged;

/// What a document of kind `HostProcessPolicy` says.
#[derive(Debug, Clone)]
pub struct Policy {
    name: Option<String>,
    rules: Vec<Rule>,
}

/// One way to be allowed: all lists that it has must match.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its own name, or its place: `rules[0]`.
    label: String,
    lists: [Option<List>; FIELDS.len()],
}

/// What a rule can speak of, in the order in which it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Namespaces,
    ServiceAccounts,
    Users,
    Images,
    RunAsUserNames,
    HostPaths,
}

pub const FIELDS: [Field; 6] = [
    Field::Namespaces,
    Field::ServiceAccounts,
    Field::Users,
    Field::Images,
    Field::RunAsUserNames,
    Field::HostPaths,
];

/// Who asks, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The request's namespace. The object's own may be absent.
    pub namespace: &'a str,
    /// Nobody is known when a file is checked: then `users` is not judged.
    pub user: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// By this rule: its name, or its place (`rules[0]`).
    Allowed {
        rule: String,
    },
    /// Not a HostProcess pod: the policy does not speak of it.
    NotHostProcess,
    Refused {
        message: String,
    },
}

/// Where a rule failed first.
struct Miss {
    field: Field,
    message: String,
}

// === impl Policy ===

impl Policy {
    /// Reads one document, YAML or JSON. Anything in it that is not understood is an error: a policy that is
    /// half read allows what it should not.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        parse::parse(text)
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// May this pod be? An update that leaves the pod's spec as it was need not be asked about: it changes
    /// nothing that a rule speaks of, and who makes it (a controller that takes a finalizer away) is not who ran it.
    pub fn decide(&self, subject: &Subject, asker: &Asker<'_>) -> Decision {
        let host_process = is_host_process(&subject.spec);
        if let Some(message) = endpoint::refusal(&subject.spec, host_process) {
            return Decision::Refused { message };
        }
        if !host_process {
            return Decision::NotHostProcess;
        }
        let mut nearest: Option<(&Rule, Miss)> = None;
        for rule in &self.rules {
            match rule.miss(subject, asker) {
                None => return Decision::Allowed { rule: rule.label.clone() },
                Some(miss) if nearest.as_ref().is_none_or(|(_, best)| miss.field > best.field) => {
                    nearest = Some((rule, miss));
                }
                Some(_) => {}
            }
        }
        Decision::Refused { message: self.refusal(nearest) }
    }

    fn refusal(&self, nearest: Option<(&Rule, Miss)>) -> String {
        let policy =
            self.name.as_ref().map_or_else(|| "the policy".to_owned(), |name| format!("policy {name:?}"));
        let Some((rule, miss)) = nearest else { return format!("{policy} has no rules") };
        let count = match self.rules.len() {
            1 => String::new(),
            count => format!(", the nearest of {count}"),
        };
        format!("no rule of {policy} allows it: rule {:?}{count}: {}", rule.label, miss.message)
    }
}

// === impl Rule ===

impl Rule {
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Absent: the rule does not judge this. Empty: nothing is allowed.
    pub fn list(&self, field: Field) -> Option<&List> {
        self.lists[field as usize].as_ref()
    }

    fn miss(&self, subject: &Subject, asker: &Asker<'_>) -> Option<Miss> {
        FIELDS.into_iter().find_map(|field| {
            let list = self.list(field)?;
            let message = match pod::judged(field, subject, asker) {
                Judged::Never(why) => why,
                Judged::Values(values) => {
                    let value = values.into_iter().find(|value| !list.matches_value(value))?;
                    format!("{} matches none of {:?}", value.what, list.patterns())
                }
            };
            Some(Miss { field, message })
        })
    }
}

// === impl Field ===

impl Field {
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::ServiceAccounts => "serviceAccounts",
            Self::Users => "users",
            Self::Images => "images",
            Self::RunAsUserNames => "runAsUserNames",
            Self::HostPaths => "hostPaths",
        }
    }
}

#[cfg(test)]
mod tests;
