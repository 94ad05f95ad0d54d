//! exec, attach and port-forward as kubelets, kubectl and crictl speak them.
//!
//! | module | what it knows |
//! |---|---|
//! | [`session`] | the one who acts: what the server needs from a runtime |
//! | [`request`] | what may be asked for, judged before a token is given |
//! | [`tickets`] | URLs that work once, for a minute |
//! | [`config`] | limits and addresses |
//! | [`protocol`], [`status`], [`resize`] | names to agree on, how a command ended, window sizes; pure |
//! | [`server`] | the listener and its routes |
//! | [`Upgrades`] | the same for a server that has routes and rules of its own |
//! | [`client`] | the other end: for `porthole exec`, and for tests |
//! | [`spdy`] | SPDY/3.1 as bytes; pure |
//! | [`websocket`] | messages on channels, and SPDY inside messages |
//!
//! The runtime's side is synchronous ([`Sessions`]); the wire's side is tokio's. The server carries the bytes between
//! them and holds a bounded amount of each stream, so that whoever is slow slows down the one at the other end.
//!
//! ```no_run
//! # async fn example(runtime: std::sync::Arc<dyn streaming::Sessions>) -> std::io::Result<()> {
//! let server = streaming::Server::bind(streaming::Config::default(), runtime).await?;
//! let tickets = server.tickets(); // gives URLs: tickets.exec(request)
//! server.run(std::future::pending()).await;
//! # Ok(()) }
//! ```

pub mod client;
pub mod config;
pub mod protocol;
pub mod request;
pub mod resize;
pub mod server;
pub mod session;
pub mod spdy;
pub mod status;
pub mod tickets;
pub mod websocket;

mod clock;
mod cut;
mod handshake;
mod mux;
mod pulse;
mod serve;

pub use config::Config;
pub use request::{AttachRequest, ExecRequest, PortForwardRequest, Request, RequestError, Streams};
pub use serve::upgrades::Upgrades;
pub use server::Server;
pub use session::{Ending, Failure, Input, Process, Said, Sessions, Size};
pub use tickets::Tickets;
