//! testbed
pub mod tools;
