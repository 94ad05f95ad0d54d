//! WebSockets: frames by tungstenite, channels and tunnels by us.
//!
//! | module | what it knows |
//! |---|---|
//! | [`channels`] | a message is a channel's number and bytes |
//! | [`tunnel`] | messages as one stream of bytes, for SPDY inside |
//! | [`socket`] | limits, and the two halves of a connection |

pub mod channels;
pub(crate) mod socket;
pub(crate) mod tunnel;
