//! The shelf tried on the real thing: real processes, sockets, files. One program of tests for both systems; built for
//! Windows it runs under Wine. What only one system has stands in a module of its own.

mod channel;
mod detach;
mod file;
mod job;
mod lock;
mod path;
mod support;

#[cfg(target_os = "linux")]
mod account;
#[cfg(target_os = "linux")]
mod clean;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod overlay;
#[cfg(target_os = "linux")]
mod propagation;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod world;
