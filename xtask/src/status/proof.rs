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
    /// What does not say that its bar was met has not met it.
    #[serde(default)]
    pass: bool,
    /// The tree had changes that the commit does not have. What does not say is not believed to have had none.
    #[serde(default = "yes")]
    dirty: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
struct Claim {
    id: String,
    level: String,
}

/// One committed proof.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) name: String,
    pub(super) commit: String,
    pub(super) pass: bool,
    pub(super) stale: bool,
    /// The requirements that it shows, each at a level.
    pub(super) claims: Vec<(String, Level)>,
}

pub(super) fn read(root: &Path) -> Result<Vec<Proof>> {
    let Ok(entries) = fs::read_dir(root.join("docs/proofs")) else { return Ok(Vec::new()) };
    let mut proofs = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            proofs.push(Proof::read(root, &path).with_context(|| format!("read {}", path.display()))?);
        }
    }
    proofs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(proofs)
}

// === impl Proof ===

impl Proof {
    fn read(root: &Path, path: &Path) -> Result<Proof> {
        let File { commit, paths, proves, pass, dirty } = serde_json::from_str(&fs::read_to_string(path)?)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let stale = dirty || is_stale(root, &commit, &paths, &without(&name));
        let claim = |claim: Claim| {
            let level = Level::parse(&claim.level).with_context(|| format!("{} is no level", claim.level))?;
            Ok((claim.id, level))
        };
        // What missed its bar shows nothing.
        let claims = proves.into_iter().filter(|_| pass).map(claim).collect::<Result<_>>()?;
        Ok(Proof { name, commit, pass, stale, claims })
    }
}

/// What is compiled for the integration tests alone is no part of what was measured or judged.
const TESTS: &str = ":(exclude,glob)crates/*/tests/**";
/// What is compiled for Windows alone is no part of what ran on Linux.
const WINDOWS: &str = ":(exclude,glob)crates/*/src/windows/**";

/// That every seeded defect was caught.
const DEFECTS: &str = "defects";

/// What a proof is not about, by its name.
fn without(name: &str) -> Vec<&'static str> {
    // Defects name each file that they are about: those of tests, and of Windows, too.
    if name == DEFECTS {
        return Vec::new();
    }
    // Tests are what a hunt of mutants is about.
    let tests = (!name.starts_with("mutants-")).then_some(TESTS);
    let windows = (!name.ends_with("-wine")).then_some(WINDOWS);
    tests.into_iter().chain(windows).collect()
}

/// A commit that is not known here (a shallow clone) cannot be compared, so the proof is not believed.
fn is_stale(root: &Path, commit: &str, paths: &[String], without: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(root).args(["diff", "--quiet", commit, "--"]).args(paths).args(without);
    !git.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_of_an_unknown_commit_is_stale() {
        let root = testbed::tools::repo_root().expect("root");
        let commit = "0000000000000000000000000000000000000000";
        assert!(is_stale(&root, commit, &["LICENSE".into()], &[]));
    }

    /// A repository with one commit, in which a test, a source and proofs of them are changed at will.
    struct Repo(tempfile::TempDir);

    impl Repo {
        fn new() -> Repo {
            let repo = Repo(tempfile::tempdir().expect("a directory"));
            repo.git(&["init", "--quiet"]);
            for path in
                ["crates/a/src/lib.rs", "crates/a/src/windows/x.rs", "crates/a/tests/t.rs", "README.md"]
            {
                repo.write(path, "before");
            }
            repo.git(&["add", "."]);
            repo.git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "--quiet", "-m", "first"]);
            let proof = |more: &str| {
                format!(
                    r#"{{"commit":"{}","paths":["crates/a"],"dirty":false{more}}}"#,
                    repo.git(&["rev-parse", "HEAD"])
                )
            };
            let claim = r#","proves":[{"id":"HP-07","level":"twin"}]"#;
            repo.write("docs/proofs/bench-a.json", &proof(&format!(r#","pass":true{claim}"#)));
            repo.write("docs/proofs/silent.json", &proof(claim));
            repo.write("docs/proofs/defects.json", &proof(""));
            repo.write("docs/proofs/e2e-a-wine.json", &proof(""));
            repo.write("docs/proofs/mutants-a.json", &proof(""));
            let other = proof(&format!(r#","pass":false{claim}"#));
            repo.write("docs/proofs/other.json", &other.replace(r#""dirty":false"#, r#""dirty":true"#));
            repo.write("docs/proofs/unsaid.json", &proof("").replace(r#","dirty":false"#, ""));
            repo
        }

        fn git(&self, args: &[&str]) -> String {
            let output = Command::new("git").current_dir(self.0.path()).args(args).output().expect("git");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }

        fn stale(&self) -> Vec<String> {
            let proofs = read(self.0.path()).expect("proofs");
            proofs.into_iter().filter(|proof| proof.stale).map(|proof| proof.name).collect()
        }
    }

    #[test]
    fn a_proof_is_stale_when_what_it_is_about_has_changed() {
        let repo = Repo::new();
        // Made on a tree that no commit has, or that may be such a one.
        assert_eq!(repo.stale(), ["other", "unsaid"]);
        repo.write("README.md", "after");
        assert_eq!(repo.stale(), ["other", "unsaid"]);
        repo.write("crates/a/tests/t.rs", "after");
        assert_eq!(repo.stale(), ["defects", "mutants-a", "other", "unsaid"]);
        repo.write("crates/a/tests/t.rs", "before");
        assert_eq!(repo.stale(), ["other", "unsaid"]);
        repo.write("crates/a/src/windows/x.rs", "after");
        assert_eq!(repo.stale(), ["defects", "e2e-a-wine", "other", "unsaid"]);
        repo.write("crates/a/tests/t.rs", "after");
        assert_eq!(repo.stale(), ["defects", "e2e-a-wine", "mutants-a", "other", "unsaid"]);
        repo.write("crates/a/src/lib.rs", "after");
        assert_eq!(
            repo.stale(),
            ["bench-a", "defects", "e2e-a-wine", "mutants-a", "other", "silent", "unsaid"]
        );
    }

    #[test]
    fn what_missed_its_bar_shows_nothing() {
        let repo = Repo::new();
        let proofs = read(repo.0.path()).expect("proofs");
        let shown: Vec<_> =
            proofs.iter().filter(|proof| !proof.claims.is_empty()).map(|p| &*p.name).collect();
        assert_eq!(shown, ["bench-a"]);
    }

    #[test]
    fn what_does_not_say_that_its_bar_was_met_has_missed_it() {
        let repo = Repo::new();
        let proofs = read(repo.0.path()).expect("proofs");
        let met: Vec<_> = proofs.iter().filter(|proof| proof.pass).map(|proof| &*proof.name).collect();
        assert_eq!(met, ["bench-a"]);
    }
}
