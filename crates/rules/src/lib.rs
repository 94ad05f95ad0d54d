//! May this pod be? Pure: an object in, verdicts out. No I/O, nothing of ours underneath.
//!
//! The API server's own rules (HP-01…03), with its reasons and field paths: `check` and the webhook answer with
//! them, and the node checks them again itself before it starts anything.

pub mod decode;
mod host_process;
pub mod pod_security;
pub mod policy;
mod subject;
mod violation;
mod warnings;

pub use host_process::{ContainerKind, containers, host_process, is_host_process};
pub use subject::{Kind, Subject};
pub use violation::{Reason, Violation};
pub use warnings::{Warning, warnings};
