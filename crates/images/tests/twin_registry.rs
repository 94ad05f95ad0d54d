//! Pulls from a real registry that misbehaves on demand: the right bytes or a clear error, and no byte more than needed
//! (the registry's own log is the witness).

#[path = "twin_registry/bench.rs"]
mod bench;
#[path = "twin_registry/clients.rs"]
mod clients;
#[path = "twin_registry/faults.rs"]
mod faults;
#[path = "twin_registry/hosts.rs"]
mod hosts;
#[path = "twin_registry/logins.rs"]
mod logins;
#[path = "twin_registry/pushes.rs"]
mod pushes;
#[path = "twin_registry/silence.rs"]
mod silence;
#[path = "twin_registry/stalls.rs"]
mod stalls;
#[path = "twin_registry/tokens.rs"]
mod tokens;
