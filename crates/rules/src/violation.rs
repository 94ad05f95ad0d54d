//! A broken rule, in the API server's terms.

use serde::Serialize;
use serde_json::Value;

/// One rule broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    pub reason: Reason,
    /// The path of the field, as the API server writes it.
    pub field: String,
    /// What was found there; `""` where the API server names no value (Forbidden, Required).
    pub value: Value,
    pub message: String,
}

/// The API server's cause types, as they appear in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Reason {
    FieldValueInvalid,
    FieldValueForbidden,
    FieldValueNotSupported,
    FieldValueRequired,
    FieldValueDuplicate,
    FieldValueTooLong,
    /// The whole object could not be read.
    BadRequest,
}

// === impl Violation ===

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}: {}: {}", self.field, self.reason, self.value, self.message)
    }
}
