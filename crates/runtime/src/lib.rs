//! Pods and containers on this host: their states, their files, their lives.
//!
//! | module | what it knows |
//! |---|---|
//! | [`pods`] | the runtime: pods and containers in the grain of CRI, as states that refuse |
//! | [`config`], [`ids`], [`error`] | what it is asked, about whom, and why it says no |
//! | [`prepare`] | one container judged completely, before anything is touched |
//! | [`effects`] | what is done to the host for a container, and taken back |
//! | [`journal`] | … written down before it is done |
//! | [`record`] | what is written down about a pod and its containers |
//! | [`layout`] | where everything is under the root directory |
//! | [`holders`] | laying down, starting, reaching and ending the holder of a pod |
//! | [`admit`] | may this pod of a file run here? |
//! | [`run`] | a file's pod above the runtime: init containers, restarts, back-off |
//! | [`view`] | what is there now, read from disk and holders; needs no agent |
//! | [`logs`] | a container's log, followed |
//! | [`failure`] | the known ways to fail: their hints, and how often each was met |
//! | [`tenure`] | whether the agent before was asked to end |
//! | [`fail`] | where tests can make an agent die |
//!
//! The truth is on disk and in the holders. An agent that dies loses nothing, and the next one goes on.

pub mod admit;
pub mod config;
pub mod effects;
pub mod error;
pub mod fail;
pub mod failure;
pub mod holders;
pub mod ids;
pub mod journal;
pub mod layout;
pub mod logs;
pub mod pods;
pub mod prepare;
pub mod record;
pub mod run;
pub mod tenure;
pub mod view;

mod claim;
mod fate;
mod node;
mod pins;

pub use error::RuntimeError;
pub use ids::{ContainerId, PodId};
pub use node::{Node, NodeError};
pub use pins::image_owner;
pub use pods::Runtime;
