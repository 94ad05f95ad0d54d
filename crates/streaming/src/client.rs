//! The other end: exec, attach and port-forward against a server such as ours.
//!
//! | module | what it knows |
//! |---|---|
//! | [`dial`] | from a URL to a connection that speaks something else than HTTP |
//! | [`command`] | a remote process: what it is told and what it says |
//! | [`forward`] | connections to a pod's ports |

pub mod command;
pub mod dial;
pub mod forward;

pub use command::{Heard, Remote, Speaker};
pub use dial::{ClientError, Dialled};
pub use forward::{Forwarded, Forwarder};
