//! Linux: the twin's half of the shelf.

pub(crate) mod accounts;
pub(crate) mod binds;
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
pub(crate) mod identity;
#[cfg(feature = "async")]
pub(crate) mod incoming;
pub(crate) mod init;
pub(crate) mod interrupt;
pub(crate) mod job;
pub(crate) mod live;
pub(crate) mod mounts;
pub(crate) mod namespace;
pub(crate) mod nested;
pub(crate) mod overlay;
pub(crate) mod path;
pub(crate) mod peers;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod pty;
pub(crate) mod raw;
pub(crate) mod rest;
pub(crate) mod session;
pub(crate) mod spawn;
pub(crate) mod streams;
pub(crate) mod tap;
pub(crate) mod temporary;
pub(crate) mod tree;
pub(crate) mod tree_attributes;
pub(crate) mod user;
pub(crate) mod view;

pub(crate) use pty as terminal;
