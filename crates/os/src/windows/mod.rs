//! Windows: the half of the shelf that the product is for.

pub(crate) mod attributes;
pub(crate) mod channel;
pub(crate) mod console;
pub(crate) mod detach;
pub(crate) mod file;
pub(crate) mod handle;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod job;
pub(crate) mod job_info;
pub(crate) mod library;
pub(crate) mod overlay;
pub(crate) mod pipe;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod registry;
pub(crate) mod security;
pub(crate) mod spawn;
pub(crate) mod tap;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod tree;
pub(crate) mod user;
pub(crate) mod view;
