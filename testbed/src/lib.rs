//! testbed
pub mod guard;
pub mod net;
pub mod process;
pub mod tools;
