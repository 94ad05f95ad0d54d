//! The runtime with real processes: pods and containers through the library, effects seen from outside.

mod adopt;
mod exec;
mod failures;
mod limits;
mod mounts;
mod nested;
mod pods;
mod propagation;
mod states;
mod termination;
mod users;
mod world;
