//! From what a test program left behind to one record per test.

use crate::libtest::{self, Outcome, Report};
use crate::results::{Counts, Record, Stamp, THE_PROGRAM, Verdict};
use crate::tier::Tier;

/// A test program that ran.
#[derive(Debug)]
pub(super) struct Ended {
    /// None: killed.
    pub(super) code: Option<i32>,
    pub(super) seconds: f64,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The lines that `testbed::skip!` wrote.
    pub(super) skips: String,
    /// The processes that were still there afterwards.
    pub(super) left: Vec<String>,
}

/// The records of one program, printed when it has ended.
pub(super) fn judge(stamp: &Stamp, tier: Tier, package: &str, target: &str, run: &Ended) -> Vec<Record> {
    let report = libtest::parse(&run.stdout);
    let record = |name: &str| stamp.record(tier, package, target, name).took(run.seconds);
    let mut records: Vec<Record> = report.tests.iter().map(|(name, end)| end_of(record(name), end)).collect();
    apply_skips(&mut records, &run.skips, record);
    let left = (!run.left.is_empty()).then(|| format!("left processes behind: {}", run.left.join(", ")));
    for doubt in doubt(&report, run.code).into_iter().chain(left) {
        eprintln!("{package} {target}: {doubt}");
        records.push(record(THE_PROGRAM).failed(doubt));
    }
    show(package, target, &records, run);
    records
}

fn end_of(record: Record, outcome: &Outcome) -> Record {
    match outcome {
        Outcome::Ok => record,
        Outcome::Failed => record.failed("see above"),
        Outcome::Ignored(Some(reason)) => record.skipped(reason),
        Outcome::Ignored(None) => record.failed("ignored without a reason: use #[ignore = \"…\"]"),
    }
}

fn apply_skips(records: &mut Vec<Record>, skips: &str, record: impl Fn(&str) -> Record) {
    for line in skips.lines() {
        let (name, reason) = line.split_once('\t').unwrap_or((line, "no reason"));
        match records.iter_mut().find(|record| record.name == name) {
            Some(found) if found.result == Verdict::Passed => *found = found.clone().skipped(reason),
            Some(_) => {}
            None => records.push(record(name).failed(format!("skipped, but no such test ran: {reason}"))),
        }
    }
}

fn doubt(report: &Report, code: Option<i32>) -> Option<String> {
    let failed = report.tests.iter().any(|(_, outcome)| *outcome == Outcome::Failed);
    match (report.doubt(), code) {
        (Some(doubt), None) => Some(format!("killed; {doubt}")),
        (Some(doubt), Some(code)) => Some(format!("exit code {code}; {doubt}")),
        (None, Some(0)) => None,
        (None, _) if failed => None,
        (None, code) => Some(format!("no test failed, yet the exit code is {code:?}")),
    }
}

fn show(package: &str, target: &str, records: &[Record], run: &Ended) {
    let counts = Counts::of(records);
    if counts == Counts::default() {
        return;
    }
    let mut text = format!("{package:<10} {target:<24} {counts} ({:.1} s)", run.seconds);
    if counts.failed > 0 {
        text += &format!("\n{}\n{}", quoted(&run.stdout), quoted(&run.stderr));
    }
    // In one piece: the program in the next lane may end at the same moment.
    println!("{text}");
}

/// The failures' own output comes after libtest's list; a program that died is quoted from its end.
fn quoted(output: &str) -> &str {
    const LONGEST: usize = 20_000;
    let from = output.find("\nfailures:\n").unwrap_or_else(|| output.len().saturating_sub(LONGEST));
    let from = output.ceil_char_boundary(from);
    let end = output.floor_char_boundary(from.saturating_add(LONGEST));
    output[from..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(stdout: &str, code: Option<i32>, skips: &str) -> Vec<(String, Verdict)> {
        let stamp = Stamp { commit: "c".into(), dirty: false };
        let run = Ended { code, stdout: stdout.into(), skips: skips.into(), ..clean() };
        let records = judge(&stamp, Tier::Unit, "p", "t", &run);
        records.into_iter().map(|record| (record.name, record.result)).collect()
    }

    fn clean() -> Ended {
        let text = String::new;
        Ended { code: Some(0), seconds: 1.0, stdout: text(), stderr: text(), skips: text(), left: Vec::new() }
    }

    const TWO: &str = "test a ... ok\ntest b ... ok\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";

    #[test]
    fn a_skip_turns_a_pass_into_a_skip() {
        let expected = [("a".into(), Verdict::Passed), ("b".into(), Verdict::Skipped)];
        assert_eq!(judged(TWO, Some(0), "b\tno Wine\n"), expected);
    }

    #[test]
    fn a_skip_does_not_hide_a_failure() {
        let text = "test a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
        assert_eq!(judged(text, Some(101), "a\twhy\n"), [("a".into(), Verdict::Failed)]);
    }

    #[test]
    fn a_skip_of_a_test_that_is_not_there_fails() {
        assert_eq!(judged(TWO, Some(0), "main\twhy\n").last(), Some(&("main".into(), Verdict::Failed)));
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        let text =
            "test a ... ignored\ntest b ... ignored, slow\ntest result: ok. 0 passed; 0 failed; 2 ignored\n";
        assert_eq!(
            judged(text, Some(0), ""),
            [("a".into(), Verdict::Failed), ("b".into(), Verdict::Skipped)]
        );
    }

    #[test]
    fn a_killed_program_fails_even_if_its_tests_passed() {
        let records = judged("test a ... ok\n", None, "");
        assert_eq!(records.last(), Some(&("the program itself".into(), Verdict::Failed)));
        let records = judged(TWO, Some(3), "");
        assert_eq!(records.last(), Some(&("the program itself".into(), Verdict::Failed)));
    }

    #[test]
    fn a_program_that_leaves_processes_behind_fails() {
        let stamp = Stamp { commit: "c".into(), dirty: false };
        let run = Ended { stdout: TWO.into(), left: vec!["agent (7)".into()], ..clean() };
        let records = judge(&stamp, Tier::Unit, "p", "t", &run);
        let last = records.last().expect("three records");
        assert_eq!((&*last.name, last.result), ("the program itself", Verdict::Failed));
    }

    #[test]
    fn the_failures_are_quoted_not_the_list() {
        assert_eq!(quoted("test a ... FAILED\n\nfailures:\n\nboom\n"), "failures:\n\nboom");
        assert_eq!(quoted("aborted"), "aborted");
    }
}
