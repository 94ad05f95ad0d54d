//! What the tests of Porthole run against: real programs, each in a world of its own on this host.
//!
//! * [`control_plane`]: a real Kubernetes control plane, several at once
//! * [`api`]: requests to its API server, many in flight
//! * [`machine`]: a node's world, which can be rebooted
//! * [`registry`]: an image registry that can be told to misbehave
//! * [`image`]: images for it, made from files
//! * [`cri`]: a container runtime under foreign judges, with all that they ask for
//! * [`cgroup`]: this host's cgroups of either version
//! * [`wine`]: Windows programs, under Wine
//! * [`webhook`]: an API server's side of an admission webhook
//! * [`guard`]: why nothing of all this stays on the host, whatever happens to a test
//! * [`tools`]: the programs behind it, made on first use

pub mod api;
pub mod cgroup;
pub mod control_plane;
pub mod cri;
pub mod disk;
pub mod guard;
pub mod image;
pub mod machine;
pub mod net;
pub mod process;
pub mod registry;
pub mod skip;
pub mod tools;
pub mod webhook;
pub mod wine;
