//! Why a spec may not pass with us, from a file such as `docs/critest.toml`, and what it has to say about a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use testbed::cri::ginkgo::Outcome;

use super::Row;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::e2e) struct Allowed {
    /// Fewer passing specs are red.
    pub(in crate::e2e) passing: usize,
    #[serde(default)]
    reason: BTreeMap<String, Reason>,
    /// Specs that pass with us and show nothing by it: they do not count.
    #[serde(default)]
    hollow: BTreeMap<String, Reason>,
}

/// One reason, and every spec that it is good for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::e2e) struct Reason {
    why: String,
    specs: Vec<String>,
}

// === impl Allowed ===

impl Allowed {
    /// `file` is from the repository's root.
    pub(in crate::e2e) fn read(root: &Path, file: &str) -> Result<Self> {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("read {file}"))?;
        toml::from_str(&text).with_context(|| format!("read {file}"))
    }

    pub(in crate::e2e) fn why(&self, spec: &str) -> Option<&str> {
        why(&self.reason, spec)
    }

    /// Why a pass of this spec shows nothing.
    pub(in crate::e2e) fn hollow(&self, spec: &str) -> Option<&str> {
        why(&self.hollow, spec)
    }

    /// How many pass and show something.
    pub(in crate::e2e) fn passed(&self, rows: &[Row]) -> usize {
        let counts = |row: &&Row| row.ours == Some(Outcome::Passed) && self.hollow(&row.name).is_none();
        rows.iter().filter(counts).count()
    }

    /// What is wrong with a run, a sentence each; nothing if all is as it should be.
    pub(in crate::e2e) fn complaints(&self, rows: &[Row]) -> Vec<String> {
        let mut all = Vec::new();
        for row in rows.iter().filter(|row| self.hollow(&row.name).is_none()) {
            match (row.ours, self.why(&row.name)) {
                (Some(Outcome::Passed), None) | (Some(Outcome::Failed | Outcome::Skipped), Some(_)) => {}
                (Some(Outcome::Passed), Some(_)) => {
                    all.push(format!("passes, but has a reason: {}", row.name))
                }
                (Some(Outcome::Failed), None) => all.push(format!("failed: {}: {}", row.name, row.said)),
                (Some(Outcome::Skipped), None) => all.push(format!("skipped: {}: {}", row.name, row.said)),
                (None, _) => all.push(format!("did not run: {}", row.name)),
            }
        }
        let known = |name: &&String| !rows.iter().any(|row| row.name == **name);
        let unknown = self.reason.values().chain(self.hollow.values());
        let unknown = unknown.flat_map(|reason| &reason.specs).filter(known);
        all.extend(unknown.map(|name| format!("a reason for a spec that is not there: {name}")));
        let passed = self.passed(rows);
        if passed < self.passing {
            all.push(format!("{passed} specs pass, {} did", self.passing));
        }
        all
    }
}

fn why<'a>(reasons: &'a BTreeMap<String, Reason>, spec: &str) -> Option<&'a str> {
    let fits = |reason: &&Reason| reason.specs.iter().any(|name| name == spec);
    reasons.values().find(fits).map(|reason| reason.why.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "passing = 1\n[reason.network]\nwhy = \"needs a network of its own\"\nspecs = [\"b\"]\n";

    fn row(name: &str, ours: Outcome) -> Row {
        Row { name: name.to_owned(), peer: None, ours: Some(ours), said: "no".to_owned() }
    }

    fn complaints(rows: &[Row]) -> Vec<String> {
        toml::from_str::<Allowed>(TEXT).expect("read").complaints(rows)
    }

    #[test]
    fn a_spec_with_a_reason_may_fail_or_be_skipped() {
        for outcome in [Outcome::Failed, Outcome::Skipped] {
            assert_eq!(complaints(&[row("a", Outcome::Passed), row("b", outcome)]), Vec::<String>::new());
        }
    }

    #[test]
    fn a_spec_without_one_may_not() {
        let rows = [row("a", Outcome::Passed), row("b", Outcome::Failed), row("c", Outcome::Skipped)];
        assert_eq!(complaints(&rows), ["skipped: c: no"]);
    }

    #[test]
    fn fewer_than_before_are_too_few() {
        let rows = [row("b", Outcome::Failed)];
        assert_eq!(complaints(&rows), ["0 specs pass, 1 did"]);
    }

    #[test]
    fn a_reason_that_is_no_longer_needed_goes() {
        let rows = [row("a", Outcome::Passed), row("b", Outcome::Passed)];
        assert_eq!(complaints(&rows), ["passes, but has a reason: b"]);
        assert_eq!(complaints(&[row("a", Outcome::Passed)]), ["a reason for a spec that is not there: b"]);
    }

    #[test]
    fn a_hollow_pass_does_not_count() {
        let text = "passing = 1\n[hollow.luck]\nwhy = \"luck\"\nspecs = [\"a\"]\n";
        let allowed: Allowed = toml::from_str(text).expect("read");
        assert_eq!(allowed.complaints(&[row("a", Outcome::Passed)]), ["0 specs pass, 1 did"]);
        let rows = [row("a", Outcome::Failed), row("b", Outcome::Passed)];
        assert_eq!(allowed.complaints(&rows), Vec::<String>::new());
    }
}
