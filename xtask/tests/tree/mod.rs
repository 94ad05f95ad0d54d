//! A workspace of one file that the gate takes for its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PACKAGE: &str = "[package]\nname = \"testbed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";

pub(crate) struct Tree(pub(crate) PathBuf);

// === impl Tree ===

impl Tree {
    /// Made there, with this library.
    pub(crate) fn new(root: PathBuf, library: &str) -> Tree {
        fs::create_dir_all(root.join("testbed/src")).expect("made");
        for (file, text) in [
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"testbed\"]\n"),
            ("testbed/Cargo.toml", PACKAGE),
            ("testbed/src/lib.rs", library),
        ] {
            fs::write(root.join(file), text).expect("written");
        }
        Tree(root)
    }

    /// `cargo xtask test` of it, with these words.
    pub(crate) fn gate(&self, words: &[&str]) -> Command {
        let mut gate = Command::new(env!("CARGO_BIN_EXE_xtask"));
        gate.arg("test").args(words).current_dir(&self.0).stdin(Stdio::null());
        gate.env("CARGO_TARGET_DIR", self.0.join("target")).env_remove("CARGO_MANIFEST_DIR");
        gate
    }
}
