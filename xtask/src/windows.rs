//! `cargo xtask windows`: the Windows executable, ready to be copied to a Windows host.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use testbed::tools::{progress, repo_root, windows};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Build quickly with debug information instead of for release
    #[arg(long)]
    debug: bool,
    /// Only print the environment for a cargo of one's own: `eval "$(cargo xtask windows --env)"`
    #[arg(long)]
    env: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.env { print_env() } else { build(options) }
}

fn print_env() -> Result<()> {
    for (name, value) in windows::toolchain()?.env {
        println!("export {name}='{}'", value.to_string_lossy());
    }
    Ok(())
}

fn build(options: &Options) -> Result<()> {
    let profile = if options.debug { "dev" } else { "release" };
    let built = windows::build_exe("porthole", "porthole", profile)?;
    let dir = repo_root()?.join("target/windows");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let exe = dir.join("porthole.exe");
    fs::copy(&built, &exe).with_context(|| format!("copy {} to {}", built.display(), exe.display()))?;
    let size = fs::metadata(&exe)?.len();
    let sum = progress::text_of(Command::new("sha256sum").arg("--").arg(&exe))?;
    let hash = sum.split_whitespace().next().unwrap_or_default();
    println!("{}\n{size} bytes\nsha256 {hash}", exe.display());
    Ok(())
}
