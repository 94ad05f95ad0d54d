//! testbed
pub mod control_plane;
pub mod guard;
pub mod machine;
pub mod net;
pub mod process;
pub mod skip;
pub mod tools;
pub mod wine;
