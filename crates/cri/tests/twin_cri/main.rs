//! CRI over its socket, as a kubelet uses it: real calls, real processes, effects seen from outside.

mod containers;
mod events;
mod exec;
mod images;
mod info;
mod malformed;
mod pods;
mod resources;
mod stats;
mod world;
