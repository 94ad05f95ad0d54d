//! The Windows target without rustup: a sysroot of ours with Debian's copy of the standard library's source.
//!
//! The user's toolchain is never written to. Ours is a directory of links to it plus the source, and a `rustc` that
//! names it as its sysroot. The two start-up objects that rustup would ship are compiled from the same source.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{TRIPLE, WindowsTarget, linker, pool, rustc, rustc_release};
use crate::tools::cache::Entry;
use crate::tools::progress;

/// Debian suites that may carry the compiler's exact version, the likeliest first.
const SUITES: &[&str] = &["trixie-backports", "trixie", "forky", "sid"];
const SOURCE: &str = "lib/rustlib/src/rust/library";

/// The target's environment, its sysroot made on first use.
pub fn provide() -> Result<WindowsTarget> {
    let release = rustc_release()?;
    let title = format!("prepare the standard library's source for rustc {release} from Debian's rust-src");
    let dir = Entry::new(format!("rust/{release}"), title).provide(|dir| make(dir, &release))?;
    let rustc = dir.join("bin/rustc");
    write_wrapper(&rustc, &dir.join("sysroot"))?;
    let env = vec![
        linker(),
        ("RUSTC", rustc.into()),
        ("RUSTC_BOOTSTRAP", "1".into()),
        ("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort".into()),
        (
            "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUSTFLAGS",
            format!("-L {}", dir.join("startup").display()).into(),
        ),
    ];
    Ok(WindowsTarget { env, origin: format!("Debian's rust-src {release}") })
}

fn make(dir: &Path, release: &str) -> Result<()> {
    let scratch = dir.join("scratch");
    fs::create_dir_all(&scratch)?;
    fetch_source(release, &scratch)?;
    let sysroot = dir.join("sysroot");
    link_toolchain(&toolchain_dir()?, &sysroot)?;
    let source = sysroot.join(SOURCE);
    fs::create_dir_all(source.parent().context("has a parent")?)?;
    let unpacked = scratch.join(format!("root/usr/src/rustc-{release}/library"));
    // Debian's copy has links into the rest of the source tree: follow them now, the tree goes away.
    progress::run(Command::new("cp").arg("-rL").args([&unpacked, &source]))?;
    compile_startup(&source, &dir.join("startup"))?;
    fs::remove_dir_all(scratch)?;
    Ok(())
}

fn fetch_source(release: &str, scratch: &Path) -> Result<()> {
    let mut found = Vec::new();
    for suite in SUITES {
        found.extend(pool::versions(suite, "rust-src", scratch)?);
        if let Ok(package) = pool::of_release(&found, release) {
            return pool::unpack(package, scratch, &scratch.join("root"));
        }
    }
    pool::of_release(&found, release).map(drop).with_context(|| {
        format!("Debian's rust-src in {}; install that Rust version or use rustup", SUITES.join(", "))
    })
}

fn toolchain_dir() -> Result<PathBuf> {
    Ok(progress::text_of(rustc().args(["--print", "sysroot"]))?.into())
}

/// Links everything of the toolchain except the way to the source, which is made of real directories.
fn link_toolchain(toolchain: &Path, sysroot: &Path) -> Result<()> {
    let real = ["lib", "lib/rustlib"];
    for dir in ["", "lib", "lib/rustlib"] {
        fs::create_dir_all(sysroot.join(dir))?;
        for entry in toolchain.join(dir).read_dir()? {
            let name = Path::new(dir).join(entry?.file_name());
            let is_real = real.iter().any(|path| name == Path::new(path));
            if !is_real && name != Path::new("lib/rustlib/src") {
                symlink(toolchain.join(&name), sysroot.join(&name))
                    .with_context(|| format!("link {}", name.display()))?;
            }
        }
    }
    Ok(())
}

fn compile_startup(source: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for name in ["rsbegin", "rsend"] {
        let mut compile = rustc();
        compile.env("RUSTC_BOOTSTRAP", "1").args(["--target", TRIPLE, "--emit=obj", "-o"]);
        compile.arg(to.join(format!("{name}.o"))).arg(source.join(format!("rtstartup/{name}.rs")));
        progress::run(&mut compile)?;
    }
    Ok(())
}

/// Written at every use: the compiler's own path may differ between checkouts that share the cache.
fn write_wrapper(path: &Path, sysroot: &Path) -> Result<()> {
    let compiler = toolchain_dir()?.join("bin/rustc");
    let script =
        format!("#!/bin/sh\nexec '{}' --sysroot '{}' \"$@\"\n", compiler.display(), sysroot.display());
    if fs::read_to_string(path).is_ok_and(|present| present == script) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("has a parent")?)?;
    let fresh = path.with_extension(format!("{}", std::process::id()));
    fs::write(&fresh, script).with_context(|| format!("write {}", fresh.display()))?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))?;
    Ok(fs::rename(&fresh, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_directory_is_ours_and_the_rest_is_linked() {
        let base = std::env::temp_dir().join(format!("porthole-sysroot-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let theirs = base.join("theirs");
        for dir in ["bin", "lib/rustlib/host", "lib/rustlib/src/rust"] {
            fs::create_dir_all(theirs.join(dir)).expect("made");
        }
        fs::write(theirs.join("lib/librustc.so"), "x").expect("written");
        let ours = base.join("ours");
        link_toolchain(&theirs, &ours).expect("linked");
        assert!(ours.join("bin").is_symlink() && ours.join("lib/librustc.so").is_symlink());
        assert!(ours.join("lib/rustlib/host").is_symlink() && !ours.join("lib/rustlib").is_symlink());
        assert!(!ours.join("lib/rustlib/src").exists(), "a write to the source must not reach the user's");
        fs::remove_dir_all(base).expect("removed");
    }
}
