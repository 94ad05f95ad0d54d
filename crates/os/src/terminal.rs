//! Terminals: a process that talks to a person, not to a pipe.

use serde::{Deserialize, Serialize};

/// How large the window of whoever looks is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}
