//! The page itself: one row per requirement, the same for the same sources.

use std::collections::BTreeSet;

use super::Sources;
use super::annotation::Annotation;
use super::level::Level;
use super::proof::Proof;
use super::requirement::Requirement;

const STALE: &str = " (stale)";
const HEAD: &str = "\
# What is proved, and where

Made by `cargo xtask status` from the `// proves: ID LEVEL` comments above tests, the results of the last gate and the
committed proofs; the gate fails when it differs. Do not edit: what is not shown and why comes from `status-notes.toml`.

A level counts only when all of its evidence is a test that passed: **pure** table and property tests; **twin** real
processes on Linux; **wine** the Windows executable under Wine; **sim** the Windows executable against simulated DLLs;
**cluster** a real control plane; **foreign** a program that is not ours; **docs** a page whose commands a test runs.
A level marked *stale* was proved at an older commit and its code has changed since. Nothing here has run on a real
Windows host yet.
";

const SLOW: &str = "\
## Proofs that take longer than the gate

Benches, hunts of mutants, soaks and judges of other projects, each by its own command. One is *stale* when what it is about
has changed since, or when it was made on a tree that no commit has.
";

/// Renders the page; `counts` says whether an annotated test is evidence.
pub(super) fn render(sources: &Sources, counts: impl Fn(&Annotation) -> bool) -> String {
    let proved: Vec<&Annotation> = sources.annotations.iter().filter(|a| counts(a)).collect();
    let rows: Vec<Row> = sources.requirements.iter().map(|r| Row::new(r, &proved, sources)).collect();
    let complete = rows.iter().filter(|row| row.complete).count();
    let mut page = format!(
        "{HEAD}\n{complete} of {} requirements have the proof they ask for.\n\n\
         | ID | levels | tests | not shown |\n|---|---|---|---|\n",
        rows.len()
    );
    for row in rows {
        page += &row.text;
    }
    page + &slow(&sources.proofs)
}

/// The proofs that the gate does not make.
fn slow(proofs: &[Proof]) -> String {
    let mut table = format!("\n{SLOW}\n| proof | made at | its bar |\n|---|---|---|\n");
    for Proof { name, commit, pass, stale, .. } in proofs {
        let (commit, mark) = (commit.get(..7).unwrap_or(commit), if *stale { STALE } else { "" });
        let bar = if *pass { "met" } else { "**missed**" };
        table += &format!("| `docs/proofs/{name}.json` | {commit}{mark} | {bar} |\n");
    }
    table
}

/// The first line that differs. Whether a proof is stale depends on the commit it is looked at, so it does not count.
pub(super) fn first_difference(committed: &str, wanted: &str) -> Option<(String, String)> {
    let lines = |text: &str| text.replace(STALE, "").lines().map(str::to_owned).collect::<Vec<_>>();
    let (committed, wanted) = (lines(committed), lines(wanted));
    let longest = committed.len().max(wanted.len());
    let line = |of: &[String], at: usize| of.get(at).cloned().unwrap_or_else(|| "(no such line)".into());
    (0..longest).map(|at| (line(&committed, at), line(&wanted, at))).find(|(a, b)| a != b)
}

#[derive(Debug)]
struct Row {
    text: String,
    complete: bool,
}

// === impl Row ===

impl Row {
    fn new(requirement: &Requirement, proved: &[&Annotation], sources: &Sources) -> Self {
        let id = &requirement.id;
        let tests: Vec<_> = proved.iter().filter(|annotation| annotation.id == *id).collect();
        let claims =
            sources.proofs.iter().flat_map(|proof| proof.claims.iter().map(move |claim| (proof, claim)));
        let proofs: Vec<_> =
            claims.filter(|(_, (of, _))| of == id).map(|(proof, (_, at))| (proof, *at)).collect();
        let fresh = proofs.iter().filter(|(proof, _)| !proof.stale).map(|(_, level)| *level);
        let fresh: BTreeSet<Level> = tests.iter().map(|test| test.level).chain(fresh).collect();
        let levels: BTreeSet<Level> =
            fresh.iter().copied().chain(proofs.iter().map(|(_, level)| *level)).collect();
        let mut shown: Vec<String> = tests.iter().map(|test| test.shown()).collect();
        shown.dedup();
        shown.extend(proofs.iter().map(|(proof, _)| format!("`docs/proofs/{}.json`", proof.name)));
        let missing: Vec<_> = requirement.least.iter().filter(|level| !levels.contains(level)).collect();
        let note = sources.notes.iter().find(|(noted, _)| noted == id).map(|(_, note)| note.as_str());
        let text = format!(
            "| {id} {} | {} | {} | {} |\n",
            requirement.title,
            listed(levels.iter().map(|level| marked(*level, !fresh.contains(level)))),
            shown.join("<br>"),
            not_shown(&missing, note)
        );
        // A note says that a part of the requirement is not shown, whatever the levels say.
        Self { text, complete: missing.is_empty() && note.is_none() }
    }
}

fn marked(level: Level, stale: bool) -> String {
    format!("{}{}", level.name(), if stale { STALE } else { "" })
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "unproved".into() } else { names.join(", ") }
}

fn not_shown(missing: &[&Level], note: Option<&str>) -> String {
    let levels = listed(missing.iter().map(|level| marked(**level, false)));
    let levels = (!missing.is_empty()).then(|| format!("missing: {levels}"));
    let parts: Vec<String> = levels.into_iter().chain(note.map(str::to_owned)).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::annotation;

    fn sources() -> Sources {
        let requirement = |id: &str, least: &[Level]| Requirement {
            id: id.into(),
            least: least.to_vec(),
            title: "Title".into(),
        };
        let text = "// proves: HP-07 twin\n#[test]\nfn dies_as_one() {}";
        Sources {
            requirements: vec![
                requirement("HP-07", &[Level::Wine, Level::Twin]),
                requirement("HP-35", &[Level::Twin]),
            ],
            annotations: annotation::parse("crates/os/tests/twin_job.rs", text).expect("parses"),
            proofs: vec![Proof {
                name: "selftest".into(),
                commit: "0123456789".into(),
                pass: true,
                stale: false,
                claims: vec![("HP-35".into(), Level::Twin)],
            }],
            notes: vec![("HP-07".into(), "storage".into())],
        }
    }

    #[test]
    fn a_row_says_what_is_proved_and_what_is_missing() {
        let page = render(&sources(), |_| true);
        let row =
            "| HP-07 Title | twin | `crates/os/tests/twin_job.rs` dies as one | missing: wine; storage |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| HP-35 Title | twin | `docs/proofs/selftest.json` |  |"), "{page}");
        assert!(page.contains("1 of 2 requirements"), "{page}");
    }

    #[test]
    fn a_test_that_did_not_pass_proves_nothing() {
        let page = render(&sources(), |_| false);
        assert!(page.contains("| HP-07 Title | unproved |  | missing: wine, twin; storage |"), "{page}");
    }

    #[test]
    fn a_stale_proof_is_marked_and_the_mark_is_no_difference() {
        let fresh = render(&sources(), |_| true);
        let mut sources = sources();
        sources.proofs[0].stale = true;
        let stale = render(&sources, |_| true);
        assert!(stale.contains("| twin (stale) | `docs/proofs/selftest.json` |"), "{stale}");
        assert!(stale.contains("| `docs/proofs/selftest.json` | 0123456 (stale) | met |"), "{stale}");
        assert_eq!(first_difference(&fresh, &stale), None);
    }

    #[test]
    fn a_proof_that_missed_its_bar_is_listed_as_such() {
        let mut sources = sources();
        sources.proofs[0].pass = false;
        let page = render(&sources, |_| true);
        assert!(page.contains("| `docs/proofs/selftest.json` | 0123456 | **missed** |"), "{page}");
    }

    #[test]
    fn a_difference_is_the_first_line_that_differs() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\n", "a\nc\n"), Some(("(no such line)".into(), "c".into())));
        assert_eq!(first_difference("x (stale)\n", "x\n"), None);
    }
}
