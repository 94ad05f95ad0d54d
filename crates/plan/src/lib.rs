//! What exactly must happen to start this container. Pure: text in, text out, for both styles of system.
//!
//! | module | question |
//! |---|---|
//! | [`command`] | which words does the container run, from image and pod? |
//! | [`quote`] | how do those words become a Windows command line? |
//! | [`expand`] | what does `$(NAME)` stand for? |
//! | [`environment`] | whose variable wins? |
//! | [`program`] | where may the executable be? |
//! | [`quantity`] | how much is `500m` or `64Mi`? |
//! | [`support`] | can this Windows build run HostProcess containers? |

pub mod command;
pub mod environment;
pub mod expand;
pub mod program;
pub mod quantity;
pub mod quote;
pub mod support;

/// How the system that will run the container writes paths and compares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Unix,
    Windows,
}

/// The variable that tells a HostProcess container where its image is.
pub const MOUNT_POINT: &str = "CONTAINER_SANDBOX_MOUNT_POINT";
