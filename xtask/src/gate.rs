//! `cargo xtask test`: the gate. Everything that must hold before a change is taken, in one command.
//!
//! Cheap tiers run first; a failure never stops the run, so that one run shows everything that is wrong. The last
//! line is `N passed, N failed, N skipped` and the exit code is 0 only when nothing failed.
//!
//! Test programs run in lanes, side by side ([`order`]); what takes long to compile is compiled meanwhile ([`ahead`]).

use std::num::NonZero;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use testbed::process::must_be_root;
use testbed::tools::cargo::Built;
use testbed::tools::{debian, go, go_tool};

use crate::results::{self, Counts, Record, Stamp, Verdict};
use crate::tier::Tier;
use crate::workspace::Workspace;
use crate::{defects, fuzz, lanes, status};

mod ahead;
mod leftovers;
pub(crate) mod lint;
mod order;
mod program;
mod programs;
mod running;
pub(crate) mod suite;
mod wine;

const WRONG_USE: u8 = 2;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these tiers, for example --tier unit --tier twin
    #[arg(long, value_enum)]
    tier: Vec<Tier>,
    /// Also run the slow suites of `cargo xtask e2e`
    #[arg(long)]
    full: bool,
    /// Install and build no tools: what is missing is a failure that names it
    #[arg(long)]
    pub(crate) no_install: bool,
    /// Put this defect into a copy of the tree and run its tier there: `list`, `all` or a name
    #[arg(long, value_name = "NAME")]
    seed_defect: Option<String>,
    /// Only tests whose name contains this
    #[arg(long)]
    filter: Option<String>,
    /// How many test programs run at once (default: two, or one on a single core; under Wine always one)
    #[arg(long, value_name = "N")]
    lanes: Option<NonZero<usize>>,
}

/// What the tiers share.
#[derive(Debug)]
struct Gate {
    workspace: Workspace,
    stamp: Stamp,
    filter: Option<String>,
    tiers: Vec<Tier>,
    lanes: Option<usize>,
    /// What the last run found, for how long its programs took.
    last: Vec<Record>,
    /// The test programs of all tiers, made when the first of them is wanted; none when not all compile.
    programs: OnceLock<Option<Vec<Built>>>,
}

pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if let Some(name) = &options.seed_defect {
        return defects::run(name);
    }
    let gate = Gate::new(options)?;
    gate.check_the_host()?;
    running::end_with_the_gate()?;
    let mut ahead = None;
    let mut records = Vec::new();
    let mut rows = Vec::new();
    for &tier in &gate.tiers {
        if tier != Tier::Lint {
            ahead.get_or_insert_with(|| ahead::Ahead::start(&gate.tiers));
        }
        let begun = Instant::now();
        println!("=== {} ===", tier.name());
        let found = gate.tier(tier);
        rows.push((tier, begun.elapsed().as_secs_f64(), Counts::of(&found)));
        records.extend(found);
    }
    drop(ahead);
    if let Some(why) = gate.no_test(&records) {
        eprintln!("error: {why}");
        return Ok(ExitCode::from(WRONG_USE));
    }
    if options.full {
        records.extend(gate.slow_suites(crate::e2e::run_all(&gate.stamp)));
    }
    records.extend(gate.status(&records));
    let path = results::write(&records, gate.whole())?;
    println!("results: {}", path.display());
    Ok(if summary(&rows, &records) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(asked: &[Tier]) -> Vec<Tier> {
    Tier::all().iter().copied().filter(|tier| asked.is_empty() || asked.contains(tier)).collect()
}

fn summary(rows: &[(Tier, f64, Counts)], records: &[Record]) -> bool {
    println!("\n{:<9} {:>7} {:>7} {:>7} {:>9}", "tier", "passed", "failed", "skipped", "seconds");
    for (tier, seconds, counts) in rows {
        let Counts { passed, failed, skipped } = counts;
        println!("{:<9} {passed:>7} {failed:>7} {skipped:>7} {seconds:>9.1}", tier.name());
    }
    for (word, verdict) in [("skipped", Verdict::Skipped), ("failed", Verdict::Failed)] {
        for record in records.iter().filter(|record| record.result == verdict) {
            println!("{word}: {} {} {}: {}", record.package, record.target, record.name, record.reason);
        }
    }
    let counts = Counts::of(records);
    println!("{counts}");
    counts.failed == 0
}

// === impl Gate ===

impl Gate {
    fn new(options: &Options) -> Result<Self> {
        Ok(Self {
            workspace: Workspace::read()?,
            stamp: Stamp::now()?,
            filter: options.filter.clone(),
            tiers: chosen(&options.tier),
            lanes: options.lanes.map(NonZero::get),
            last: results::read().unwrap_or_default(),
            programs: OnceLock::new(),
        })
    }

    /// Before minutes are spent on compiling: what no tier could install for itself.
    fn check_the_host(&self) -> Result<()> {
        if self.tiers.iter().any(|tier| !matches!(tier, Tier::Lint | Tier::Unit | Tier::Fuzz)) {
            must_be_root()?;
        }
        self.tiers.iter().try_for_each(|tier| go::can_be_had(tier.needs().go_tools))
    }

    fn lanes(&self, tier: Tier) -> usize {
        tier.lanes(self.lanes, lanes::cores())
    }

    fn tier(&self, tier: Tier) -> Vec<Record> {
        let prepared = prepare(tier).and_then(|()| self.run_tier(tier));
        prepared.unwrap_or_else(|error| {
            eprintln!("{}: {error:#}", tier.name());
            let reason = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
            vec![self.stamp.record(tier, "gate", tier.name(), results::PREPARE).failed(reason)]
        })
    }

    fn run_tier(&self, tier: Tier) -> Result<Vec<Record>> {
        match tier {
            Tier::Lint => Ok(lint::run(&self.stamp, self.filter.as_deref())),
            Tier::Fuzz => fuzz::gate(&self.stamp, self.lanes(tier), self.filter.as_deref()),
            Tier::Unit => Ok([self.suite(tier, &[])?, self.fuzz_replay()?, self.doc_tests()?].concat()),
            Tier::Wine => self.wine(),
            Tier::Twin => {
                let holder = ("PORTHOLE_HOLD", suite::holder()?);
                self.suite(tier, &[("PORTHOLE_FIXTURE", suite::static_fixture()?), holder])
            }
            Tier::Cluster | Tier::Foreign => {
                self.suite(tier, &[("PORTHOLE_FIXTURE", suite::static_fixture()?)])
            }
        }
    }

    /// The tiers of which all was run: a filter leaves out some of each.
    fn whole(&self) -> &[Tier] {
        if self.filter.is_some() { &[] } else { &self.tiers }
    }

    /// A filter that is misspelt must not look like tests that passed.
    fn no_test(&self, records: &[Record]) -> Option<String> {
        let filter = self.filter.as_ref().filter(|_| records.is_empty())?;
        let tiers: Vec<_> = self.tiers.iter().map(|tier| tier.name()).collect();
        Some(format!("no test has {filter:?} in its name (tiers: {})", tiers.join(", ")))
    }

    /// Each counts as a test of the foreign tier.
    fn slow_suites(&self, ends: Vec<(&'static str, Option<String>)>) -> Vec<Record> {
        let record = |(name, why): (&str, Option<String>)| {
            let record = self.stamp.record(Tier::Foreign, results::SLOW_SUITES, name, "the suite is content");
            match why {
                None => record,
                Some(why) => record.failed(why),
            }
        };
        ends.into_iter().map(record).collect()
    }

    /// docs/status.md must say what the annotations beside the tests say, as far as this run could tell.
    fn status(&self, records: &[Record]) -> Vec<Record> {
        // Of the tests that a filter left out nobody could say whether they pass.
        if self.filter.is_some() || !records.iter().any(|record| record.tier == Tier::Lint) {
            return Vec::new();
        }
        let record = self.stamp.record(Tier::Lint, "docs", "status", "status_is_current");
        match status::check(records) {
            Ok(()) => vec![record],
            Err(error) => vec![record.failed(format!("{error:#}"))],
        }
    }
}

fn prepare(tier: Tier) -> Result<()> {
    let needs = tier.needs();
    debian::ensure(needs.packages)?;
    for tool in needs.go_tools {
        go_tool(tool).with_context(|| format!("the {} tier needs {tool}", tier.name()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_run_in_the_gates_order_whatever_was_typed_first() {
        assert_eq!(chosen(&[Tier::Wine, Tier::Unit]), [Tier::Unit, Tier::Wine]);
        assert_eq!(chosen(&[]), Tier::all());
    }

    fn filtered(filter: Option<&str>) -> Gate {
        Gate {
            workspace: Workspace { packages: Vec::new(), target_directory: "/r".into() },
            stamp: Stamp { commit: "c".into(), dirty: false },
            filter: filter.map(str::to_owned),
            tiers: vec![Tier::Unit, Tier::Twin],
            lanes: None,
            last: Vec::new(),
            programs: OnceLock::new(),
        }
    }

    #[test]
    fn a_filter_that_is_in_no_name_is_wrong_use() {
        let gate = filtered(Some("genrations"));
        let why = gate.no_test(&[]).expect("an error");
        assert_eq!(why, "no test has \"genrations\" in its name (tiers: unit, twin)");
        assert_eq!(gate.no_test(&[gate.stamp.record(Tier::Unit, "p", "t", "n")]), None);
        assert_eq!(
            filtered(None).no_test(&[]),
            None,
            "a workspace without tests is no mistake of the caller"
        );
    }

    #[test]
    fn only_without_a_filter_has_a_tier_run_as_a_whole() {
        assert_eq!(filtered(None).whole(), [Tier::Unit, Tier::Twin]);
        assert_eq!(filtered(Some("generations")).whole(), []);
    }

    #[test]
    fn a_part_of_the_tests_does_not_judge_the_page_of_status() {
        let gate = filtered(Some("fmt"));
        let records = [Tier::Lint, Tier::Unit].map(|tier| gate.stamp.record(tier, "p", "t", "rustfmt"));
        assert_eq!(gate.status(&records), []);
    }

    #[test]
    fn the_gate_is_green_only_without_failures() {
        let stamp = Stamp { commit: "c".into(), dirty: false };
        let record = stamp.record(Tier::Unit, "p", "t", "n");
        assert!(summary(&[], &[record.clone(), record.clone().skipped("why")]));
        assert!(!summary(&[], &[record.clone(), record.failed("why")]));
    }
}
