//! The agent's door for the command line: `porthole exec`, `attach`, `stats`, `stop` and `rm`.
//!
//! Whoever has a node's lock is its agent and serves `<root>/run/admin.sock` (on Windows a protected pipe) while it
//! lives. The verbs ask there; where no agent is, they take the lock and do the same themselves. Frames and streams are
//! the holder's own: an exec is passed on chunk by chunk, so that a slow reader stops the program and nothing piles up.
//!
//! | module | what it knows |
//! |---|---|
//! | [`protocol`] | what is asked and answered |
//! | [`act`](mod@act) | carrying it out on a runtime, for the server and for a verb without an agent |
//! | [`server`] | the agent's end: a thread per client, a bounded number of them |
//! | `relay` | an exec or attach, passed on between client and holder |
//! | [`client`] | the command line's end |
//! | [`agent`] | finding the agent, or taking its place |

pub mod act;
pub mod agent;
pub mod client;
pub mod protocol;
mod relay;
pub mod server;

use os::channel::Endpoint;
use runtime::layout::Layout;

pub use agent::{Agent, ReachError};
pub use protocol::{Refusal, Request};
pub use server::{Server, serve};

/// Where the agent of this root is asked.
pub fn endpoint(layout: &Layout) -> Endpoint {
    os::channel::endpoint(&layout.run(), "admin")
}
