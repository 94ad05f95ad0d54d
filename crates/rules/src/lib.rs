//! May this pod be? Pure: an object in, verdicts out. No I/O, nothing of ours underneath.
//!
//! The API server's own rules (HP-01…03), with its reasons and field paths: `check` and the webhook answer with
//! them, and the node checks them again itself before it starts anything.

mod api;
mod covers;
pub mod decode;
mod dns;
mod host_namespaces;
mod host_network;
mod host_process;
mod pod_os;
pub mod pod_security;
pub mod policy;
mod privileged;
mod subject;
mod user_name;
mod violation;
mod warnings;
mod windows_options;

pub use api::{ApiOptions, api, api_ephemeral};
pub use covers::{Cover, covers};
pub use host_process::{ContainerKind, Seen, containers, host_process, is_host_process};
pub use subject::{Kind, Subject};
pub use violation::{Reason, Violation};
pub use warnings::{Warning, warnings};
