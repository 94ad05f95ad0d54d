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

impl Violation {
    pub(crate) fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Reason::FieldValueInvalid, field, value, message)
    }

    pub(crate) fn not_supported(
        field: impl Into<String>,
        value: impl Into<Value>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(Reason::FieldValueNotSupported, field, value, message)
    }

    pub(crate) fn forbidden(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Reason::FieldValueForbidden, field, "", message)
    }

    pub(crate) fn new(
        reason: Reason,
        field: impl Into<String>,
        value: impl Into<Value>,
        message: impl Into<String>,
    ) -> Self {
        Self { reason, field: field.into(), value: value.into(), message: message.into() }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}: {}: {}", self.field, self.reason, self.value, self.message)
    }
}
