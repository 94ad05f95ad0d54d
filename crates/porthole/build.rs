//! Builds `porthole-hold` for the same target and leaves it where `src/embedded.rs` includes it.
//!
//! A plain `cargo run` must give a porthole that can start holders, so this cannot be a step that people
//! remember. Cargo has no stable way to depend on another package's binary, hence a cargo inside cargo, with
//! a target directory of its own: it waits for no lock of the outer one, and all profiles share it.
//!
//! The outer environment is inherited: whoever cross-compiles with `-Z build-std` does so by variables
//! (`CARGO_UNSTABLE_BUILD_STD`, `RUSTC_BOOTSTRAP`, `CARGO_TARGET_…_RUSTFLAGS`), which then hold in here too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    for watched in ["crates/holder", "crates/os", "Cargo.lock", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    // target[/TRIPLE]/PROFILE/build/porthole-HASH/out
    let target_dir =
        out.ancestors().nth(4).expect("OUT_DIR is deep inside the target directory").join("hold");
    let target = variable("TARGET");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(&root).args(["build", "--locked", "--package", "holder", "--bin", "porthole-hold"]);
    cargo.args(["--profile", "hold", "--target", &target, "--target-dir"]).arg(&target_dir);
    if variable("PROFILE") == "debug" {
        // The holder's fail points are for tests, and tests have a debug build.
        cargo.args(["--features", "failpoints"]);
    }
    // The linter wraps the compiler of the outer build; the holder is compiled, not linted.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    let status = cargo.status().expect("cargo runs cargo");
    assert!(status.success(), "building porthole-hold failed: see above");
    let suffix = if target.contains("windows") { ".exe" } else { "" };
    let built = target_dir.join(&target).join("hold").join(format!("porthole-hold{suffix}"));
    fs::copy(&built, out.join("porthole-hold")).expect("the holder was just built");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
