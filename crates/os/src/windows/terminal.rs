//! What is particular to terminals here, beside the pseudo console itself.

use std::io;

/// Ctrl-Z and Enter.
pub(crate) const END_OF_INPUT: &[u8] = b"\x1a\r";

/// The output of a pseudo console ends as any pipe does.
pub(crate) fn is_hangup(_error: &io::Error) -> bool {
    false
}
