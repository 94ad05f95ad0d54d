//! Whether the terminal behind standard output obeys escape sequences. All do but those that say otherwise.

use std::io::{self, IsTerminal};

/// Nothing has to be turned on here.
#[derive(Debug)]
pub(crate) struct Live;

// === impl Live ===

impl Live {
    pub(crate) fn enter() -> Option<Self> {
        let obeys = std::env::var_os("TERM").is_none_or(|name| name != "dumb");
        (obeys && io::stdout().is_terminal()).then_some(Self)
    }
}
