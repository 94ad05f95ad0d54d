//! What happens after a yes: the request's two ends are brought together until one of them is done.
//!
//! | module | what it knows |
//! |---|---|
//! | [`upgrades`] | judging a request, answering it, and what then runs beside it |
//! | [`command`] | a process between its runtime and its client: two threads at most, bounded queues |
//! | [`outputs`] | where a process's words go, on either wire |
//! | [`by_spdy`], [`by_channels`] | exec and attach on SPDY and on WebSocket |
//! | [`forward`], [`forward_channels`] | port-forward on SPDY (plain or inside a WebSocket) and on channels |

mod by_channels;
mod by_spdy;
mod command;
mod forward;
mod forward_channels;
mod outputs;
pub(crate) mod upgrades;

use std::time::Duration;

/// How long a client may take to close, once all has been said.
const LINGER: Duration = Duration::from_secs(10);
