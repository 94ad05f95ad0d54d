//! Which packages and test targets this workspace has, from `cargo metadata`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use testbed::tools::{cargo, progress};

use crate::tier::Tier;

#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

// === impl Workspace ===

impl Workspace {
    pub(crate) fn read() -> Result<Self> {
        let mut command = cargo::command("metadata")?;
        let text = progress::text_of(command.args(["--format-version", "1", "--no-deps"]))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).context("read cargo's metadata")
    }

    /// The names of the integration tests of one tier; packages may share a name.
    pub(crate) fn integration_tests(&self, tier: Tier) -> Vec<&str> {
        let targets = self.packages.iter().flat_map(|package| &package.targets);
        let tests = targets.filter(|target| target.kind.iter().any(|kind| kind == "test"));
        let mut names: Vec<_> = tests.map(|test| test.name.as_str()).collect();
        names.retain(|name| Tier::of_target(name) == tier);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The name of a manifest's package; one outside the workspace (fuzz) is called as its directory.
    pub(crate) fn package_of<'a>(&'a self, manifest: &'a Path) -> &'a str {
        let package = self.packages.iter().find(|package| package.manifest_path == manifest);
        let directory = manifest.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        package.map(|package| package.name.as_str()).or(directory).unwrap_or("unknown")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{"target_directory":"/r/target","packages":[
        {"name":"os","manifest_path":"/r/os/Cargo.toml","targets":[
            {"name":"os","kind":["lib"]},{"name":"twin_job","kind":["test"]},{"name":"golden","kind":["test"]}]},
        {"name":"porthole","manifest_path":"/r/porthole/Cargo.toml","targets":[
            {"name":"porthole","kind":["bin"]},{"name":"twin_job","kind":["test"]},{"name":"wine_up","kind":["test"]},
            {"name":"twin_bin","kind":["bin"]}]}]}"#;

    #[test]
    fn tests_are_sorted_into_tiers() {
        let workspace = Workspace::parse(METADATA).expect("parses");
        assert_eq!(workspace.integration_tests(Tier::Twin), ["twin_job"]);
        assert_eq!(workspace.integration_tests(Tier::Wine), ["wine_up"]);
        assert_eq!(workspace.integration_tests(Tier::Unit), ["golden"]);
        assert!(workspace.integration_tests(Tier::Cluster).is_empty());
    }

    #[test]
    fn a_program_belongs_to_the_package_of_its_manifest() {
        let workspace = Workspace::parse(METADATA).expect("parses");
        assert_eq!(workspace.package_of("/r/os/Cargo.toml".as_ref()), "os");
        assert_eq!(workspace.package_of("/r/fuzz/Cargo.toml".as_ref()), "fuzz");
    }
}
