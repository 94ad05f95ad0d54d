//! Pods and containers on this host: their states, their files, their lives.
//!
//! | module | what it knows |
//! |---|---|
//! | [`layout`] | where everything is under the root directory |
//! | [`admit`] | may this pod run here? every check, before any side effect |
//! | [`launch`] | one container's start, from pod, image and host |
//! | [`record`] | what is written down about a pod and its containers |
//! | [`journal`] | what was done to the host, so that it can be undone |
//! | [`holders`] | laying down, starting and reaching the holder of a pod |
//! | [`run`] | one pod's life: start or adopt, restart, stop, clean up |
//! | [`view`] | what is there now, read from disk and holders; needs no agent |
//! | [`logs`] | a container's log, followed |
//!
//! The truth is on disk and in the holders. An agent that dies loses nothing, and the next one goes on.

pub mod admit;
pub mod holders;
pub mod journal;
pub mod launch;
pub mod layout;
pub mod logs;
pub mod record;
pub mod run;
pub mod view;

mod fate;
mod node;
mod pins;

pub use node::{Node, NodeError};
