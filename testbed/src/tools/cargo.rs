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
    Ok(read(messages)?.iter().filter_map(artifact).collect())
}

/// The files that cargo's JSON messages name beside programs: libraries, and what belongs to them.
pub fn libraries(messages: &[u8]) -> Result<Vec<PathBuf>> {
    let messages = read(messages)?;
    let files = messages.iter().filter_map(|message| message["filenames"].as_array()).flatten();
    Ok(files.filter_map(|file| file.as_str()).map(PathBuf::from).collect())
}

fn read(messages: &[u8]) -> Result<Vec<serde_json::Value>> {
    let text = std::str::from_utf8(messages).context("cargo's messages")?;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).context("one of cargo's messages")).collect()
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
    use std::path::Path;

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
    fn libraries_are_read_from_cargos_messages() {
        let messages = br#"{"reason":"compiler-artifact","filenames":["/t/sim.dll","/t/libsim.dll.a"],"executable":null}"#;
        assert_eq!(
            libraries(messages).expect("read"),
            [Path::new("/t/sim.dll"), Path::new("/t/libsim.dll.a")]
        );
    }

    #[test]
    fn broken_messages_are_an_error() {
        assert!(built(b"{\"reason\":").is_err());
    }
}
