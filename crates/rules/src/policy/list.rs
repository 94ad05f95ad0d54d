//! A list of patterns, compiled into one regular expression that Rust and the API server's CEL both understand.

use regex::Regex;

use super::pod::Value;
use super::{Field, image, path};

/// What a rule allows of one field.
#[derive(Debug, Clone)]
pub struct List {
    patterns: Vec<String>,
    regex: Regex,
}

/// Matches nothing, in either dialect: no text begins after its first character.
const NOTHING: &str = "x^";

// === impl List ===

impl List {
    /// `None` if the expression would be too large.
    pub(super) fn new(field: Field, patterns: Vec<String>) -> Option<Self> {
        let parts: Vec<_> = patterns.iter().filter_map(|pattern| regex(field, pattern).ok()).collect();
        let text = if parts.is_empty() { NOTHING.to_owned() } else { format!("^(?s:{})$", parts.join("|")) };
        Some(Self { patterns, regex: Regex::new(&text).ok()? })
    }

    /// As they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// An expression for values in their normal form: what CEL's `matches` takes.
    pub fn regex(&self) -> &str {
        self.regex.as_str()
    }

    pub(super) fn matches_value(&self, value: &Value) -> bool {
        value.normal.as_ref().is_some_and(|normal| self.regex.is_match(normal))
    }
}

/// A pattern as a regular expression, or what was wanted instead.
pub(super) fn regex(field: Field, pattern: &str) -> Result<String, &'static str> {
    match field {
        Field::Namespaces if !made_of(pattern, "-*") => Err("lower-case letters, digits, \"-\" and \"*\""),
        Field::ServiceAccounts if !made_of(pattern, "-.*") => {
            Err("lower-case letters, digits, \"-\", \".\" and \"*\"")
        }
        Field::Users if pattern.is_empty() => Err("a name"),
        Field::Namespaces | Field::ServiceAccounts | Field::Users => Ok(glob(pattern, ".*")),
        Field::Images => image::regex(pattern),
        Field::RunAsUserNames => Ok(glob(&account(pattern), ".*")),
        Field::HostPaths => path::regex(pattern),
    }
}

/// Accounts are compared as Windows does: by ASCII's letters only, so that nothing unlisted looks alike.
pub(super) fn account(name: &str) -> String {
    name.to_ascii_lowercase().replace('/', "\\")
}

/// Text with `*` as an expression, in which a star stands for `any`.
pub(super) fn glob(pattern: &str, any: &str) -> String {
    let parts: Vec<_> = pattern.split('*').map(regex::escape).collect();
    parts.join(any)
}

fn made_of(pattern: &str, also: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || also.contains(c);
    !pattern.is_empty() && pattern.chars().all(good)
}
