//! Linux: the twin's half of the shelf.

pub(crate) mod born;
pub(crate) mod cgroup;
pub(crate) mod cgroup_v1;
pub(crate) mod cgroup_v2;
pub(crate) mod channel;
pub(crate) mod detach;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod guard;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod interrupt;
pub(crate) mod job;
pub(crate) mod namespace;
pub(crate) mod overlay;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod rest;
pub(crate) mod spawn;
pub(crate) mod tree;
pub(crate) mod tree_attributes;
