//! The runtime's words into answers. Pure.

pub mod container;
pub mod image;
pub mod info;
pub mod pod;
pub mod stats;
pub mod time;
