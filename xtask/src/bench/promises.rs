//! SPECIFICATION.md says of a figure what its committed proof says.

use std::fs;

use serde::Deserialize;
use testbed::tools::repo_root;

use super::{BENCHES, pull};

const MISSED: &str = "missed";

/// A row of the table of promises.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    promise: &'a str,
    measured: &'a str,
    command: &'a str,
}

/// What a bench left in `docs/proofs`, as far as a row repeats it.
#[derive(Debug, Deserialize)]
struct Proof {
    pass: bool,
    #[serde(default)]
    goals: Vec<Reached>,
}

#[derive(Debug, Deserialize)]
struct Reached {
    ours: String,
    ratio: f64,
    pass: bool,
}

fn rows(page: &str) -> Vec<Row<'_>> {
    page.lines().filter_map(row).collect()
}

/// Promise, bar, measured, beside, command.
fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [promise, _, measured, _, command] = cells[..] else { return None };
    Some(Row { promise, measured, command: command.trim_matches('`') })
}

impl Row<'_> {
    fn is_of(&self, bench: &str) -> bool {
        self.command == format!("cargo xtask bench {bench}")
    }

    /// The first figure, if it is a ratio: `2.08 × (3.6 s)` or `**missed: 2.96 ×** (1.4 s)`.
    fn ratio(&self) -> Option<&str> {
        let (before, _) = self.measured.split_once(" ×")?;
        Some(before.trim_start_matches("**").trim_start_matches(MISSED).trim_start_matches(": "))
    }

    /// What the row says otherwise than the proof of its goal.
    fn contradicts(&self, goal: &Reached) -> Option<String> {
        let wanted = format!("{:.2}", goal.ratio);
        if self.measured.contains(MISSED) == goal.pass {
            Some(format!("{}: pass is {}, the page says {}", self.promise, goal.pass, self.measured))
        } else if self.ratio() != Some(&wanted) {
            Some(format!("{}: {wanted} × was measured, the page says {}", self.promise, self.measured))
        } else {
            None
        }
    }
}

fn page() -> String {
    fs::read_to_string(repo_root().expect("root").join("SPECIFICATION.md")).expect("a page")
}

fn proof(bench: &str) -> Proof {
    let path = repo_root().expect("root").join(format!("docs/proofs/bench-{bench}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_page_says_of_each_pull_what_its_committed_proof_says() {
    let (page, proof) = (page(), proof("pull"));
    assert_eq!(proof.goals.len(), pull::GOALS.len());
    for goal in &proof.goals {
        let case = format!("({})", goal.ours.split(' ').next().expect("a case"));
        let mut of_case =
            rows(&page).into_iter().filter(|row| row.is_of("pull") && row.promise.contains(&case));
        let row = of_case.next().unwrap_or_else(|| panic!("no row for {}", goal.ours));
        assert_eq!(row.contradicts(goal), None);
        assert!(of_case.next().is_none(), "two rows for {}", goal.ours);
    }
}

#[test]
fn no_figure_is_missed_on_the_page_whose_proof_passed() {
    let page = page();
    let rows = rows(&page);
    for bench in BENCHES.iter().map(|bench| bench.name) {
        let of_bench: Vec<_> = rows.iter().filter(|row| row.is_of(bench)).collect();
        assert!(!of_bench.is_empty(), "the page has no figure of {bench}");
        let missed = of_bench.iter().any(|row| row.measured.contains(MISSED));
        assert!(!(missed && proof(bench).pass), "{bench} passed: {of_bench:#?}");
    }
}

#[test]
fn a_row_that_contradicts_its_proof_is_seen() {
    let reached = |ratio, pass| Reached { ours: "d porthole MB/s".into(), ratio, pass };
    let says = |measured: &str, goal: Reached| {
        let line = format!("| the same, (d) ten | ≥ 3 × | {measured} | | `cargo xtask bench pull` |");
        let row = row(&line).expect("a row");
        assert!(row.is_of("pull") && !row.is_of("pul"));
        row.contradicts(&goal).is_none()
    };
    assert!(says("3.30 × (1.29 s)", reached(3.3003, true)));
    assert!(says("**missed: 2.96 ×** (1.38 s)", reached(2.9561, false)));
    assert!(!says("**missed: 2.96 ×** (1.38 s)", reached(3.3003, true)));
    assert!(!says("**missed: 3.30 ×** (1.38 s)", reached(3.3003, true)));
    assert!(!says("2.96 × (1.38 s)", reached(2.9561, false)));
    assert!(!says("3.31 × (1.29 s)", reached(3.3003, true)));
    assert!(!says("13.30 × (1.29 s)", reached(3.3003, true)));
    assert!(!says("1.29 s", reached(3.3003, true)));
}
