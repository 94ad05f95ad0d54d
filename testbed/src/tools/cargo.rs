//! Our own programs and test programs, built by cargo and found through what it reports.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::repo_root;

/// One program that cargo reported as built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Name of the cargo target: a binary's, a library's or an integration test's.
    pub name: String,
    /// True for test programs.
    pub is_test: bool,
    /// The package's `Cargo.toml`.
    pub manifest: PathBuf,
    pub path: PathBuf,
}

/// A cargo command in the workspace's root.
pub fn command(subcommand: &str) -> Result<Command> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(subcommand).current_dir(repo_root()?);
    Ok(cargo)
}

/// Makes a cargo command report what it builds on standard output, for [`built`]; diagnostics stay readable.
pub fn reporting(cargo: &mut Command) -> &mut Command {
    cargo.args(["--message-format", "json-render-diagnostics"])
}

/// The programs named in cargo's JSON messages.
pub fn built(messages: &[u8]) -> Result<Vec<Built>> {
    let text = std::str::from_utf8(messages).context("cargo's messages")?;
    let mut built = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let message: serde_json::Value = serde_json::from_str(line).context("one of cargo's messages")?;
        built.extend(artifact(&message));
    }
    Ok(built)
}

fn artifact(message: &serde_json::Value) -> Option<Built> {
    Some(Built {
        path: message["executable"].as_str()?.into(),
        name: message["target"]["name"].as_str()?.into(),
        is_test: message["profile"]["test"].as_bool().unwrap_or(false),
        manifest: message["manifest_path"].as_str().unwrap_or_default().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let messages = br#"{"reason":"compiler-artifact","target":{"name":"os"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/r/os/Cargo.toml","target":{"name":"twin_job"},"profile":{"test":true},"executable":"/t/twin_job-1"}
{"reason":"build-finished","success":true}
"#;
        let expected = Built {
            name: "twin_job".into(),
            is_test: true,
            manifest: "/r/os/Cargo.toml".into(),
            path: "/t/twin_job-1".into(),
        };
        assert_eq!(built(messages).expect("read"), [expected]);
    }

    #[test]
    fn broken_messages_are_an_error() {
        assert!(built(b"{\"reason\":").is_err());
    }
}
