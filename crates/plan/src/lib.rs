//! What exactly must happen to start this container. Pure: text in, text out, for both styles of system.
//!
//! | module | question |
//! |---|---|
//! | [`command`] | which words does the container run, from image and pod? |
//! | [`quote`] | how do those words become a Windows command line? |
//! | [`expand`] | what does `$(NAME)` stand for? |
//! | [`environment`] | whose variable wins? |
//! | [`drive`] | on which drive is a path that names none? |
//! | [`program`] | where may the executable be? |
//! | [`quantity`] | how much is `500m` or `64Mi`? |
//! | [`mount_point`] | where is the image, in commands and variables? |
//! | [`destination`], [`mounts`] | which volumes are bound or linked where, and which are refused? |
//! | [`account`] | who is this user name? |
//! | [`limits`] | what is a job object told? |
//! | [`start`] | all of it: which file is run, with which words, where? |
//! | [`support`] | can this Windows build run HostProcess containers? |

pub mod account;
pub mod command;
pub mod destination;
pub mod drive;
pub mod environment;
pub mod expand;
pub mod limits;
pub mod mount_point;
pub mod mounts;
pub mod program;
pub mod quantity;
pub mod quote;
pub mod start;
pub mod support;

/// How the system that will run the container writes paths and compares names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Unix,
    Windows,
}

/// The variable that tells a HostProcess container where its image is.
pub const MOUNT_POINT: &str = "CONTAINER_SANDBOX_MOUNT_POINT";
