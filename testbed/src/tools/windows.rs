//! The Windows executable, built on Linux.
//!
//! Where rustup can add the target's standard library it does. Where it cannot (no access to Rust's download host),
//! [`build_std`] compiles the standard library itself from Debian's `rust-src`. Either way the result is a set of
//! environment variables, so that a `cargo build` that a build script starts inherits them:
//!
//! | variable | when | why |
//! |---|---|---|
//! | `CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER` | always | Debian's MinGW |
//! | `RUSTC` | build-std | a wrapper that points rustc at a sysroot which has the source |
//! | `RUSTC_BOOTSTRAP` | build-std | `-Z build-std` on a stable compiler |
//! | `CARGO_UNSTABLE_BUILD_STD` | build-std | `-Z build-std=…` for this and every nested cargo |
//! | `CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS` | build-std | where `rsbegin.o` and `rsend.o` are |
//!
//! A nested cargo must pass `--target` itself; none of these variables chooses it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{cargo, may_install, progress};

pub mod build_std;
pub mod pool;

/// The target that every Windows program here is built for.
pub const TRIPLE: &str = "x86_64-pc-windows-gnu";
const LINKER: &str = "x86_64-w64-mingw32-gcc";
const LINKER_PACKAGE: &str = "gcc-mingw-w64-x86-64";

/// How to build for Windows on this machine.
#[derive(Debug, Clone)]
pub struct WindowsTarget {
    /// Environment of cargo; see the module's table.
    pub env: Vec<(&'static str, OsString)>,
    /// For people: where the standard library comes from.
    pub origin: String,
}

/// Makes this machine able to build for Windows, on first use.
///
/// `PORTHOLE_BUILD_STD` forces the way that does not need rustup, so that it can be tested anywhere.
pub fn toolchain() -> Result<WindowsTarget> {
    require_linker()?;
    let by_rustup = env::var_os("PORTHOLE_BUILD_STD").is_none();
    if by_rustup && (has_std()? || rustup_adds_std()) {
        return Ok(WindowsTarget { env: vec![linker()], origin: "rustup".into() });
    }
    build_std::provide()
}

/// Builds one program of ours for Windows and returns its path.
///
/// ```no_run
/// let exe = testbed::tools::windows::build_exe("fixture", "fixture", "dev")?;
/// # anyhow::Ok(())
/// ```
pub fn build_exe(package: &str, bin: &str, profile: &str) -> Result<PathBuf> {
    let target = toolchain()?;
    let mut command = target.cargo("build")?;
    command.args(["--package", package, "--bin", bin, "--profile", profile]);
    let title = format!("build {bin}.exe ({profile}, standard library from {})", target.origin);
    let output = progress::step(&title, || progress::run(&mut command))?;
    let exe = cargo::built(&output.stdout)?.into_iter().find(|built| built.name == bin);
    Ok(exe.with_context(|| format!("cargo named no executable {bin} of package {package}"))?.path)
}

/// Builds one library of ours that Windows programs load, and returns its path.
pub fn build_dll(package: &str, profile: &str) -> Result<PathBuf> {
    let target = toolchain()?;
    let mut command = target.cargo("build")?;
    command.args(["--package", package, "--lib", "--profile", profile]);
    let title = format!("build {package}.dll ({profile}, standard library from {})", target.origin);
    let output = progress::step(&title, || progress::run(&mut command))?;
    let name = format!("{package}.dll");
    let found = cargo::libraries(&output.stdout)?.into_iter().find(|path| path.ends_with(&name));
    found.with_context(|| format!("cargo named no library {name}"))
}

// === impl WindowsTarget ===

impl WindowsTarget {
    /// A cargo command for this target that reports what it built (see [`cargo::built`]).
    pub fn cargo(&self, subcommand: &str) -> Result<Command> {
        let mut command = self.plain(subcommand)?;
        cargo::reporting(&mut command);
        Ok(command)
    }

    /// A cargo command for this target that talks to people.
    pub fn plain(&self, subcommand: &str) -> Result<Command> {
        let mut command = cargo::command(subcommand)?;
        command.args(["--target", TRIPLE]).envs(self.env.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }
}

fn linker() -> (&'static str, OsString) {
    ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", LINKER.into())
}

fn require_linker() -> Result<()> {
    if Command::new(LINKER).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    super::debian::ensure(&[LINKER_PACKAGE])
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

fn has_std() -> Result<bool> {
    let dir = progress::text_of(rustc().args(["--print", "target-libdir", "--target", TRIPLE]))?;
    Ok(has_library(Path::new(&dir)))
}

fn has_library(dir: &Path) -> bool {
    let Ok(entries) = dir.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

fn rustup_adds_std() -> bool {
    if !may_install() {
        return false;
    }
    // A compiler that is not rustup's does not gain the target by it: only what rustc then finds counts.
    let title = format!("rustup target add {TRIPLE}");
    let add = || progress::run(Command::new("timeout").args(["300", "rustup", "target", "add", TRIPLE]));
    match progress::step(&title, add) {
        Ok(_) => has_std().unwrap_or(false),
        Err(error) => {
            eprintln!("rustup cannot add the target, the standard library is built instead: {error}");
            false
        }
    }
}

/// The release of the compiler in use, for example `1.95.0`.
pub fn rustc_release() -> Result<String> {
    let text = progress::text_of(rustc().arg("-vV"))?;
    match text.lines().find_map(|line| line.strip_prefix("release: ")) {
        Some(release) => Ok(release.to_owned()),
        None => bail!("rustc -vV names no release: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_the_library_is_not_a_target() {
        assert!(!has_library(Path::new(env!("CARGO_MANIFEST_DIR"))));
        assert!(!has_library(Path::new("/nowhere")));
    }
}
