//! exec, attach and port-forward as kubelets, kubectl and crictl speak them.
//!
//! | module | what it knows |
//! |---|---|
//! | [`session`] | the one who acts: what the server needs from a runtime |
//! | [`request`] | what may be asked for, judged before a token is given |
//! | [`tickets`] | URLs that work once, for a minute |
//! | [`config`] | limits and addresses |
//!
//! The runtime's side is synchronous ([`Sessions`]); the wire's side is tokio's. The server carries the bytes between
//! them and holds a bounded amount of each stream, so that whoever is slow slows down the one at the other end.

pub mod config;
pub mod request;
pub mod session;
pub mod tickets;

pub use config::Config;
pub use request::{AttachRequest, ExecRequest, PortForwardRequest, Request, RequestError, Streams};
pub use session::{Ending, Failure, Input, Process, Said, Sessions, Size};
pub use tickets::Tickets;
