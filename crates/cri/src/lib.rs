//! CRI v1 over the runtime: what a stock kubelet, crictl and critest call.
//!
//! | module | what it knows |
//! |---|---|
//! | [`api`] | the messages and services of `runtime.v1`, made from `proto/` |
//! | [`wire`] | requests into the runtime's words; pure, and everything wrong is found here |
//! | [`told`] | the runtime's words into answers; pure too |
//! | [`note`] | what is kept with pods and containers to be told again |
//! | [`error`] | why something was not done, and the gRPC code that says so |
//! | [`service`] | the verbs |
//! | [`streams`] | exec, attach and port-forward for the streaming server |
//! | [`events`] | what happens, for whoever watches |
//! | [`deadline`] | how long a caller waits |
//! | [`metrics`] | what was counted |
//! | [`listen`], [`server`] | where it is served, until it is asked to stop |
//! | [`settings`] | what the administrator decides |
//!
//! The runtime is blocking: every verb runs on a thread of its own while the caller waits, and nobody else does.

#[expect(clippy::all, clippy::allow_attributes, reason = "made from proto/")]
pub mod api {
    tonic::include_proto!("runtime.v1");
}

pub mod deadline;
pub mod error;
pub mod events;
pub mod listen;
pub mod metrics;
pub mod note;
pub mod server;
pub mod service;
pub mod settings;
pub mod streams;
pub mod told;
pub mod wire;

pub use error::CriError;
pub use server::{Server, ServerError};
pub use service::Cri;
pub use settings::Settings;
