//! May this pod be? Pure: a pod spec in, violations out. No I/O, nothing of ours underneath.
//!
//! Today: the HostProcess rules that the API server applies (HP-01, HP-02), with its reasons and field
//! paths, because the node must check them again itself before it starts anything.

mod host_process;

pub use host_process::{ContainerKind, containers, host_process, is_host_process};

/// One rule broken, in the API server's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub reason: Reason,
    /// The path of the field, as the API server writes it.
    pub field: String,
    pub value: String,
    pub message: String,
}

/// The API server's cause types, as they appear in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    FieldValueInvalid,
}

// === impl Violation ===

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}: {}: {}", self.field, self.reason, self.value, self.message)
    }
}
