//! What can be wrong with a policy document.

use super::parse::{API_VERSION, KIND};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not YAML, a wrong type, an unknown or missing field: the reader's own words, with the line.
    #[error("not a {KIND}: {0}")]
    Unreadable(String),
    #[error("line {line}: wanted apiVersion {API_VERSION:?}, found {found:?}")]
    Version { line: u64, found: String },
    #[error("line {line}: wanted kind {KIND:?}, found {found:?}")]
    Kind { line: u64, found: String },
    #[error("the policy has no rules: to allow nothing, say rules: [{{namespaces: []}}]")]
    NoRules,
    #[error(
        "line {line}: rule {rule:?} sets no field and would allow everything: if that is meant, say namespaces: [\"*\"]"
    )]
    NoField { line: u64, rule: String },
    #[error("line {line}: two rules have the name {rule:?}")]
    SameName { line: u64, rule: String },
    #[error("line {line}: rule {rule:?}: {field} has {found:?}, wanted {wanted}")]
    Pattern { line: u64, rule: String, field: &'static str, found: String, wanted: &'static str },
    #[error("rule {rule:?}: {field} is too long to be matched")]
    TooLong { rule: String, field: &'static str },
}
