//! Programs that the tests need and that no checkout carries: found in a cache, made on first use.
//!
//! Everything lives under [`cache_dir`], keyed by version, so that the first run is slow and later ones are not.
//! With `PORTHOLE_NO_INSTALL` set nothing is made or downloaded; the error then names what is missing.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub mod cache;
pub mod cargo;
pub mod debian;
pub mod go;
pub mod progress;
pub mod windows;
pub mod wine;

pub use go::{go_tool, windows_go_tool};

/// Where made tools are kept: `$PORTHOLE_CACHE`, else `~/.cache/porthole`.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = non_empty("PORTHOLE_CACHE") {
        return dir.into();
    }
    match non_empty("HOME") {
        Some(home) => Path::new(&home).join(".cache/porthole"),
        None => "/var/cache/porthole".into(),
    }
}

/// False when the user forbade installing (`cargo xtask test --no-install`).
pub fn may_install() -> bool {
    non_empty("PORTHOLE_NO_INSTALL").is_none()
}

/// The directory of the workspace's `Cargo.toml`, from wherever a test or xtask was started.
pub fn repo_root() -> Result<PathBuf> {
    let start = match non_empty("CARGO_MANIFEST_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => env::current_dir().context("current directory")?,
    };
    let found = start.ancestors().find(|dir| is_workspace(dir)).map(Path::to_path_buf);
    found.with_context(|| format!("no workspace Cargo.toml in {} or above it", start.display()))
}

fn is_workspace(dir: &Path) -> bool {
    // `fuzz` is a workspace of its own inside ours, so the marker is one of our members, not `[workspace]`.
    dir.join("Cargo.toml").is_file() && dir.join("testbed/Cargo.toml").is_file()
}

fn non_empty(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repo_root_is_above_this_crate() {
        let root = repo_root().expect("found");
        assert_eq!(root, Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("has one"));
    }
}
