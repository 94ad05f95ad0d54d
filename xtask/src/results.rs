//! What the last runs of the gate found, kept in `target/porthole-tests/results.json` for `status`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testbed::tools::{progress, repo_root};

use crate::tier::Tier;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// One test of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) tier: Tier,
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) name: String,
    pub(crate) result: Verdict,
    /// Why it failed or was skipped, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// Of the whole test program: libtest does not say more.
    pub(crate) seconds: f64,
    pub(crate) commit: String,
    /// The tree had changes that the commit does not have.
    pub(crate) dirty: bool,
}

/// The name of a record of a test program that did not end as one should.
pub(crate) const THE_PROGRAM: &str = "the program itself";
/// The name of a record of a tier that could not start.
pub(crate) const PREPARE: &str = "prepare";

/// The package, so to speak, of what the slow suites found.
pub(crate) const SLOW_SUITES: &str = "e2e";

/// The commit that records are stamped with.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    pub(crate) commit: String,
    pub(crate) dirty: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

// === impl Stamp ===

impl Stamp {
    /// A tree without git (an unpacked archive) is stamped as such and counts as dirty.
    pub(crate) fn now() -> Result<Self> {
        let root = repo_root()?;
        let git = |args: &[&str]| progress::text_of(Command::new("git").current_dir(&root).args(args));
        let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|_| "none".into());
        let dirty = git(&["status", "--porcelain"]).map_or(true, |changes| !changes.is_empty());
        Ok(Self { commit, dirty })
    }

    pub(crate) fn record(&self, tier: Tier, package: &str, target: &str, name: &str) -> Record {
        Record {
            tier,
            package: package.into(),
            target: target.into(),
            name: name.into(),
            result: Verdict::Passed,
            reason: String::new(),
            seconds: 0.0,
            commit: self.commit.clone(),
            dirty: self.dirty,
        }
    }
}

// === impl Record ===

impl Record {
    pub(crate) fn failed(mut self, reason: impl Into<String>) -> Self {
        (self.result, self.reason) = (Verdict::Failed, reason.into());
        self
    }

    pub(crate) fn skipped(mut self, reason: impl Into<String>) -> Self {
        (self.result, self.reason) = (Verdict::Skipped, reason.into());
        self
    }

    /// Whether this one, which stands for a whole program or tier that did not come to its end, makes what was known of
    /// that test worthless.
    fn replaces(&self, old: &Record) -> bool {
        match &*self.name {
            PREPARE => self.tier == old.tier,
            _ => self.program() == old.program(),
        }
    }

    fn program(&self) -> (Tier, &str, &str) {
        (self.tier, &self.package, &self.target)
    }

    /// Which test of which program it is about.
    fn test(&self) -> (Tier, &str, &str, &str) {
        (self.tier, &self.package, &self.target, &self.name)
    }

    pub(crate) fn took(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }
}

// === impl Counts ===

impl Counts {
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut counts = Self::default();
        for record in records {
            match record.result {
                Verdict::Passed => counts.passed += 1,
                Verdict::Failed => counts.failed += 1,
                Verdict::Skipped => counts.skipped += 1,
            }
        }
        counts
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// The directory of results and logs.
pub(crate) fn directory() -> Result<PathBuf> {
    let dir = repo_root()?.join("target/porthole-tests");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    Ok(dir)
}

pub(crate) fn read() -> Result<Vec<Record>> {
    let path = directory()?.join("results.json");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
}

/// How long a test program took, if these records know.
pub(crate) fn seconds(records: &[Record], tier: Tier, package: &str, target: &str) -> Option<f64> {
    let same = |it: &&Record| it.tier == tier && it.package == package && it.target == target;
    records.iter().find(same).map(|record| record.seconds)
}

/// Keeps what earlier runs said about what did not run now: of the tiers that ran as a whole, nothing.
pub(crate) fn write(new: &[Record], whole: &[Tier]) -> Result<PathBuf> {
    let path = directory()?.join("results.json");
    let merged = merge(read().unwrap_or_default(), new, whole);
    store(&path, &serde_json::to_string_pretty(&merged)?)?;
    Ok(path)
}

fn merge(old: Vec<Record>, new: &[Record], whole: &[Tier]) -> Vec<Record> {
    let again: BTreeSet<_> = new.iter().map(Record::test).collect();
    // Those few that stand for more than a test.
    let wide: Vec<_> = new.iter().filter(|record| [THE_PROGRAM, PREPARE].contains(&&*record.name)).collect();
    let keeps = |old: &Record| {
        !whole.contains(&old.tier)
            && !again.contains(&old.test())
            && !wide.iter().any(|record| record.replaces(old))
    };
    let mut merged: Vec<Record> = old.into_iter().filter(keeps).collect();
    merged.extend_from_slice(new);
    merged
}

/// Write and rename, so that a reader never sees half a file.
pub(crate) fn store(path: &Path, text: &str) -> Result<()> {
    let half = path.with_extension("half");
    fs::write(&half, text).with_context(|| format!("write {}", half.display()))?;
    fs::rename(&half, path).with_context(|| format!("rename to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp { commit: "c".into(), dirty: false }
    }

    #[test]
    fn a_tier_that_ran_replaces_what_was_known_of_it() {
        let old =
            vec![stamp().record(Tier::Unit, "p", "t", "gone"), stamp().record(Tier::Twin, "p", "t", "kept")];
        let merged = merge(old, &[stamp().record(Tier::Unit, "p", "t", "new")], &[Tier::Unit]);
        assert_eq!(names(&merged), ["kept", "new"]);
    }

    #[test]
    fn a_part_of_a_tier_replaces_only_the_tests_that_ran() {
        let twin = |package, name| stamp().record(Tier::Twin, package, "twin_job", name);
        let old = vec![twin("os", "generations"), twin("os", "other"), twin("cri", "generations")];
        let new =
            [twin("os", "generations").failed("why"), stamp().record(Tier::Foreign, "e2e", "critest", "x")];
        let merged = merge(old, &new, &[]);
        assert_eq!(names(&merged), ["other", "generations", "generations", "x"]);
        let failed: Vec<_> = merged.iter().filter(|record| record.result == Verdict::Failed).collect();
        assert_eq!((failed.len(), &*failed[0].package), (1, "os"));
    }

    #[test]
    fn what_the_slow_suites_found_leaves_the_tests_of_their_tier() {
        let old = vec![stamp().record(Tier::Foreign, "porthole", "foreign_pull", "a_digest_is_held_to")];
        let new = [
            stamp().record(Tier::Unit, "p", "t", "n"),
            stamp().record(Tier::Foreign, "e2e", "critest", "content"),
        ];
        assert_eq!(names(&merge(old, &new, &[Tier::Unit])), ["a_digest_is_held_to", "n", "content"]);
    }

    #[test]
    fn a_program_that_did_not_end_well_and_a_tier_that_did_not_start_leave_no_earlier_pass() {
        let twin = |target, name| stamp().record(Tier::Twin, "os", target, name);
        let old = || vec![twin("twin_job", "a"), twin("twin_job", "b"), twin("twin_view", "c")];
        let crashed = twin("twin_job", THE_PROGRAM).failed("killed");
        assert_eq!(names(&merge(old(), &[crashed], &[])), ["c", THE_PROGRAM]);
        let not_built = stamp().record(Tier::Twin, "gate", "twin", PREPARE).failed("does not compile");
        let mut known = old();
        known.push(stamp().record(Tier::Unit, "os", "lib", "d"));
        assert_eq!(names(&merge(known, &[not_built], &[])), ["d", PREPARE]);
    }

    fn names(records: &[Record]) -> Vec<&str> {
        records.iter().map(|record| record.name.as_str()).collect()
    }

    #[test]
    fn the_last_line_counts_each_kind() {
        let record = |name| stamp().record(Tier::Unit, "p", "t", name);
        let all = [record("a"), record("b").failed("x"), record("c").skipped("y"), record("d")];
        assert_eq!(Counts::of(&all).to_string(), "2 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn a_programs_seconds_are_those_of_its_tier_and_package() {
        let twin = |package, seconds| stamp().record(Tier::Twin, package, "twin_cri", "a").took(seconds);
        let known = [twin("cri", 50.0), twin("porthole", 12.0)];
        assert_eq!(seconds(&known, Tier::Twin, "porthole", "twin_cri"), Some(12.0));
        assert_eq!(seconds(&known, Tier::Wine, "porthole", "twin_cri"), None);
    }

    #[test]
    fn records_survive_their_file() {
        let record = stamp().record(Tier::Wine, "os", "twin_job", "born_inside").skipped("no Wine").took(1.5);
        let text = serde_json::to_string(&record).expect("written");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("read"), record);
    }
}
