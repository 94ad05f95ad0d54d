//! `porthole image …` against a real registry on loopback and against files.

#[expect(dead_code, reason = "what a person does besides is for the other verbs")]
#[path = "../person/mod.rs"]
mod person;
#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../person/window.rs"]
mod window;

mod bars;
mod build;
mod desk;
mod disk;
mod explain;
mod full;
mod platforms;
mod registry;
mod transfer;
mod words;
