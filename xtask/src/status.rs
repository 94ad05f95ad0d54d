//! `cargo xtask status`: docs/status.md, where each requirement says how far it is proved.
//!
//! Nobody writes that page. Its rows are the `// proves: ID LEVEL` comments above tests, joined with the results of the
//! last run of the gate (only tests that passed count), the committed proofs and the notes on what is not shown.

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;
use testbed::tools::repo_root;

use crate::results::{self, Record, Verdict};
use annotation::Annotation;
use proof::Proof;
use requirement::Requirement;

mod annotation;
mod level;
mod page;
#[cfg(test)]
mod pages;
mod proof;
mod requirement;

const PAGE: &str = "docs/status.md";
const NOTES: &str = "docs/status-notes.toml";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Write nothing; fail if the page differs from what the annotations say
    #[arg(long)]
    check: bool,
    /// Write the page as it is if every annotated test passes, before the gate has run; the gate checks it then
    #[arg(long, conflicts_with = "check")]
    expect: bool,
}

/// Everything that the page is made of.
#[derive(Debug)]
struct Sources {
    requirements: Vec<Requirement>,
    annotations: Vec<Annotation>,
    proofs: Vec<Proof>,
    notes: Vec<(String, String)>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let records = results::read()?;
    if options.check {
        return check(&records);
    }
    let sources = Sources::read()?;
    let page =
        page::render(&sources, |annotation| options.expect || passed(annotation, &records) == Some(true));
    let path = repo_root()?.join(PAGE);
    results::store(&path, &page)?;
    println!("{} written", path.display());
    Ok(())
}

/// Fails if the committed page differs from what annotations and these records say. A test of a tier that did not run
/// is taken at its annotation's word: the full gate runs them all.
pub(crate) fn check(records: &[Record]) -> Result<()> {
    let page = page::render(&Sources::read()?, |annotation| passed(annotation, records) != Some(false));
    let path = repo_root()?.join(PAGE);
    let committed = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    match page::first_difference(&committed, &page) {
        None => Ok(()),
        Some((committed, wanted)) => bail!(
            "{PAGE} is not what the tests say; run `cargo xtask status`\n  committed: {committed}\n  wanted:    {wanted}"
        ),
    }
}

/// Whether the annotated test passed at its level; none if its tier did not run.
fn passed(annotation: &Annotation, records: &[Record]) -> Option<bool> {
    let tier = annotation.level.tier();
    // What the slow suites found is told by their proofs and says nothing of the tests of their tier.
    let ran = |record: &&Record| {
        tier.is_none_or(|tier| record.tier == tier) && record.package != results::SLOW_SUITES
    };
    let mut of_tier = records.iter().filter(ran).peekable();
    of_tier.peek()?;
    Some(of_tier.any(|record| annotation.is_test(record) && record.result == Verdict::Passed))
}

// === impl Sources ===

impl Sources {
    fn read() -> Result<Self> {
        let root = repo_root()?;
        let requirements = requirement::read(&root)?;
        let annotations = annotation::read(&root)?;
        for annotation in &annotations {
            if !requirements.iter().any(|requirement| requirement.id == annotation.id) {
                bail!("{}: {} is no requirement", annotation.file.display(), annotation.id);
            }
        }
        let notes = fs::read_to_string(root.join(NOTES)).unwrap_or_default();
        Ok(Self {
            requirements,
            annotations,
            proofs: proof::read(&root)?,
            notes: requirement::notes(&notes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Stamp;
    use crate::tier::Tier;

    fn annotation() -> Annotation {
        annotation::parse("crates/os/tests/twin_job.rs", "// proves: HP-07 wine\n#[test]\nfn dies() {}\n")
            .expect("parses")
            .remove(0)
    }

    #[test]
    fn only_a_pass_in_the_levels_own_tier_counts() {
        let stamp = Stamp { commit: "c".into(), dirty: false };
        let twin = stamp.record(Tier::Twin, "os", "twin_job", "dies");
        let wine = stamp.record(Tier::Wine, "os", "twin_job", "dies");
        assert_eq!(passed(&annotation(), std::slice::from_ref(&twin)), None);
        assert_eq!(passed(&annotation(), &[twin.clone(), wine.clone()]), Some(true));
        assert_eq!(passed(&annotation(), &[twin, wine.skipped("no Wine")]), Some(false));
    }

    #[test]
    fn a_slow_suite_that_ran_is_no_tier_that_ran() {
        let stamp = Stamp { commit: "c".into(), dirty: false };
        let suite = stamp.record(Tier::Wine, results::SLOW_SUITES, "critest", "the suite is content");
        assert_eq!(passed(&annotation(), &[suite]), None);
    }
}
