//! `porthole image …` against a real registry on loopback and against files.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
#[path = "../stage/mod.rs"]
mod stage;

mod desk;
mod disk;
mod registry;
mod transfer;
mod words;
