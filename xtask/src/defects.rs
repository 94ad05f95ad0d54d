//! `cargo xtask test --seed-defect NAME`: is the gate awake?
//!
//! A defect is put into a copy of the tree and the tier that must notice is run there, as far as the test goes that
//! must fail. A red tier ends with exit code 1 as the gate does; a green one means that a tier sleeps and ends with
//! exit code 4.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use testbed::tools::{cargo, progress, repo_root};

use crate::results::{self, Record, Stamp, Verdict};
use crate::tier::Tier;
use table::DEFECTS;

mod table;

const NOT_CAUGHT: u8 = 4;
const TABLE: &str = "xtask/src/defects/table.rs";
/// What the gate in the copy leaves there.
const RESULTS: &str = "target/porthole-tests/results.json";

/// A mistake that someone could make, and the tier that must notice it.
#[derive(Debug)]
pub(crate) struct Defect {
    pub(crate) name: &'static str,
    pub(crate) tier: Tier,
    pub(crate) file: &'static str,
    /// Occurs exactly once in the file.
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
    /// The test that must fail: a tier that is red for another reason has noticed nothing.
    pub(crate) caught_by: &'static str,
    /// The file that says what that test wants: that a defect was caught holds as long as it stays the same.
    pub(crate) test: &'static str,
    pub(crate) why: &'static str,
}

pub(crate) fn run(name: &str) -> Result<ExitCode> {
    match name {
        "list" => list(),
        "all" => run_all(),
        name => {
            let defect = DEFECTS.iter().find(|defect| defect.name == name);
            let defect = defect.with_context(|| format!("no defect {name}; see --seed-defect list"))?;
            Ok(if defect.is_caught()? { ExitCode::FAILURE } else { ExitCode::from(NOT_CAUGHT) })
        }
    }
}

fn list() -> Result<ExitCode> {
    for Defect { name, tier, file, why, .. } in DEFECTS {
        println!("{name:<24} {:<8} {file}: {why}", tier.name());
    }
    Ok(ExitCode::SUCCESS)
}

/// What `all` leaves in docs/proofs, if everything was caught.
#[derive(Debug, Serialize)]
struct Proof {
    pass: bool,
    commit: String,
    dirty: bool,
    /// The files that the defects were put into and those of the tests.
    paths: BTreeSet<&'static str>,
    caught: Vec<Caught>,
}

#[derive(Debug, Serialize)]
struct Caught {
    name: &'static str,
    tier: &'static str,
    by: &'static str,
}

/// Here success means that every defect was caught.
fn run_all() -> Result<ExitCode> {
    let stamp = Stamp::now()?;
    let mut missed = Vec::new();
    for defect in DEFECTS {
        if !defect.is_caught()? {
            missed.push(defect.name);
        }
    }
    if missed.is_empty() {
        let proof = serde_json::to_string_pretty(&Proof::of_all(stamp))? + "\n";
        results::store(&repo_root()?.join("docs/proofs/defects.json"), &proof)?;
    }
    println!("{} defects, {} not caught: {}", DEFECTS.len(), missed.len(), missed.join(", "));
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOT_CAUGHT) })
}

// === impl Proof ===

impl Proof {
    fn of_all(stamp: Stamp) -> Proof {
        let Stamp { commit, dirty } = stamp;
        // The table itself, too: of a defect that is new nobody knows whether it is caught.
        let files = DEFECTS.iter().flat_map(|defect| [defect.file, defect.test]);
        let paths = files.chain([TABLE]).collect();
        Proof { pass: true, commit, dirty, paths, caught: DEFECTS.iter().map(Defect::caught).collect() }
    }
}

// === impl Defect ===

impl Defect {
    fn caught(&self) -> Caught {
        Caught { name: self.name, tier: self.tier.name(), by: self.caught_by }
    }

    fn is_caught(&self) -> Result<bool> {
        let root = repo_root()?;
        let tree = root.join("target/defect/tree");
        progress::step("copy the tree", || copy_tree(&root, &tree))?;
        self.seed(&tree)?;
        // What an earlier defect's run found there says nothing of this one.
        remove_results(&tree)?;
        println!("seeded {} into {}: {}", self.name, self.file, self.why);
        let status = self.gate(&root, &tree)?;
        ensure!(matches!(status, 0 | 1), "the gate in the copy ended with {status}");
        let caught = status == 1 && self.is_noticed(&tree)?;
        println!("{}: {}", self.name, if caught { "caught" } else { "defect not caught" });
        Ok(caught)
    }

    /// A tier that could not even start (a tool is missing, nothing compiles) cannot tell.
    fn is_noticed(&self, tree: &Path) -> Result<bool> {
        let path = tree.join(RESULTS);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let records: Vec<Record> = serde_json::from_str(&text)?;
        let of_tier = records.iter().filter(|record| record.tier == self.tier);
        let failed: Vec<_> = of_tier.filter(|record| record.result == Verdict::Failed).collect();
        if let Some(broken) = failed.iter().find(|record| record.name == results::PREPARE) {
            bail!("the {} tier did not start: {}", broken.target, broken.reason);
        }
        Ok(failed.iter().any(|record| record.name == self.caught_by))
    }

    fn seed(&self, tree: &Path) -> Result<()> {
        let path = tree.join(self.file);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        fs::write(&path, self.applied(&text)?).with_context(|| format!("write {}", path.display()))
    }

    fn applied(&self, text: &str) -> Result<String> {
        let count = text.matches(self.find).count();
        ensure!(count == 1, "{}: {:?} occurs {count} times in {}", self.name, self.find, self.file);
        Ok(text.replacen(self.find, self.replace, 1))
    }

    fn gate(&self, root: &Path, tree: &Path) -> Result<i32> {
        let mut command = cargo::command("xtask")?;
        command.current_dir(tree).args(["test", "--tier", self.tier.name(), "--filter", self.caught_by]);
        command.env("CARGO_TARGET_DIR", root.join("target/defect/target")).env_remove("CARGO_MANIFEST_DIR");
        let status = command.stdin(Stdio::null()).status().context("start the gate in the copy")?;
        status.code().context("the gate in the copy was killed")
    }
}

fn remove_results(tree: &Path) -> Result<()> {
    match fs::remove_file(tree.join(RESULTS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove {RESULTS} in {}", tree.display()))
        }
        _ => Ok(()),
    }
}

/// Copies what git would: tracked files and new ones that are not ignored. A file that is already the same keeps its
/// time, so that cargo does not build it again.
fn copy_tree(root: &Path, tree: &Path) -> Result<()> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let list = progress::text_of(&mut git)?;
    let wanted: BTreeSet<PathBuf> =
        list.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    for name in wanted.iter().filter(|name| root.join(name).is_file()) {
        copy_if_different(&root.join(name), &tree.join(name))?;
    }
    remove_others(tree, tree, &wanted)
}

fn copy_if_different(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("read {}", from.display()))?;
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(());
    }
    fs::create_dir_all(to.parent().context("a file has a directory")?)?;
    fs::copy(from, to).with_context(|| format!("copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn remove_others(tree: &Path, dir: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        let name = path.strip_prefix(tree)?;
        if path.is_dir() && name != Path::new("target") {
            remove_others(tree, &path, wanted)?;
        } else if path.is_file() && !wanted.contains(name) {
            fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_fits_the_tree_as_it_is() {
        let root = repo_root().expect("root");
        for defect in DEFECTS {
            let text = fs::read_to_string(root.join(defect.file)).expect(defect.file);
            let seeded = defect.applied(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(seeded, text, "{}", defect.name);
        }
    }

    /// A test that is renamed would leave its defect uncaught, which a run of hours would find out.
    #[test]
    fn every_tier_has_a_defect_and_the_test_that_must_notice_it_exists() {
        for tier in Tier::all() {
            assert!(DEFECTS.iter().any(|defect| defect.tier == *tier), "{}", tier.name());
        }
        let root = repo_root().expect("root");
        for defect in DEFECTS {
            let text = fs::read_to_string(root.join(defect.test)).expect(defect.test);
            let name = defect.caught_by.rsplit("::").next().expect("a name");
            let there = defect.tier == Tier::Lint || text.contains(&format!("fn {name}("));
            assert!(there, "{}: no test {name} in {}", defect.name, defect.test);
        }
    }

    #[test]
    fn the_proof_is_about_the_code_and_the_tests_of_all_defects() {
        let proof = Proof::of_all(Stamp { commit: "c".into(), dirty: true });
        assert!(proof.pass && proof.dirty && proof.paths.contains(TABLE));
        assert!(repo_root().expect("root").join(TABLE).is_file());
        for defect in DEFECTS {
            assert!(
                proof.paths.contains(defect.file) && proof.paths.contains(defect.test),
                "{}",
                defect.name
            );
        }
    }

    #[test]
    fn what_an_earlier_run_found_in_the_copy_is_no_answer() {
        let tree = tempfile::tempdir().expect("a directory");
        remove_results(tree.path()).expect("nothing to remove");
        let path = tree.path().join(RESULTS);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, "[]").expect("written");
        remove_results(tree.path()).expect("removed");
        assert!(!path.exists());
    }

    #[test]
    fn text_that_occurs_twice_is_refused() {
        let defect = Defect {
            name: "d",
            tier: Tier::Unit,
            file: "f",
            find: "x",
            replace: "y",
            caught_by: "",
            test: "",
            why: "",
        };
        assert!(defect.applied("x x").is_err() && defect.applied("").is_err());
        assert_eq!(defect.applied("a x").expect("once"), "a y");
    }

    #[test]
    fn a_copy_follows_the_tree() {
        let dir = own_dir();
        fs::create_dir_all(dir.join("tree/sub")).expect("made");
        fs::write(dir.join("tree/sub/old"), "x").expect("written");
        fs::write(dir.join("a"), "1").expect("written");
        copy_if_different(&dir.join("a"), &dir.join("tree/a")).expect("copied");
        let wanted = BTreeSet::from([PathBuf::from("a")]);
        remove_others(&dir.join("tree"), &dir.join("tree"), &wanted).expect("removed");
        assert!(dir.join("tree/a").is_file() && !dir.join("tree/sub/old").exists());
        fs::remove_dir_all(dir).expect("removed");
    }

    fn own_dir() -> PathBuf {
        let dir = std::env::temp_dir().join(format!("porthole-defects-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }
}
