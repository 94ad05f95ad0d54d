//! Slow proofs that the gate does not run: `docs/proofs/NAME.json`, with the commit they were made at.
//!
//! A proof goes stale when the paths that it is about have changed since.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::level::Level;

#[derive(Debug, Deserialize)]
struct File {
    commit: String,
    /// What the proof is about, from the repository's root.
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    proves: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    id: String,
    level: String,
}

/// One claim of a committed proof.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) name: String,
    pub(super) id: String,
    pub(super) level: Level,
    pub(super) stale: bool,
}

pub(super) fn read(root: &Path) -> Result<Vec<Proof>> {
    let Ok(entries) = fs::read_dir(root.join("docs/proofs")) else { return Ok(Vec::new()) };
    let mut proofs = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            proofs.extend(claims(root, &path).with_context(|| format!("read {}", path.display()))?);
        }
    }
    proofs.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    Ok(proofs)
}

fn claims(root: &Path, path: &Path) -> Result<Vec<Proof>> {
    let file: File = serde_json::from_str(&fs::read_to_string(path)?)?;
    let stale = is_stale(root, &file.commit, &file.paths);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let proof = |claim: Claim| {
        let level = Level::parse(&claim.level).with_context(|| format!("{} is no level", claim.level))?;
        Ok(Proof { name: name.clone(), id: claim.id, level, stale })
    };
    file.proves.into_iter().map(proof).collect()
}

/// What is compiled for the integration tests alone is no part of what was measured or judged.
const TESTS: &str = ":(exclude,glob)crates/*/tests/**";

/// A commit that is not known here (a shallow clone) cannot be compared, so the proof is not believed.
pub(super) fn is_stale(root: &Path, commit: &str, paths: &[String]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(root).args(["diff", "--quiet", commit, "--"]).args(paths).arg(TESTS);
    !git.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_of_an_unknown_commit_is_stale() {
        let root = testbed::tools::repo_root().expect("root");
        assert!(is_stale(&root, "0000000000000000000000000000000000000000", &["LICENSE".into()]));
    }
}
