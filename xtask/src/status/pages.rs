//! Pages that are proof themselves: what they name exists, and nothing is left open.

use std::fs;
use std::path::Path;

use testbed::tools::go::GO_TOOLS;
use testbed::tools::repo_root;

const TRIAGE: &str = "docs/upstream-tests.md";
const GUIDANCE: &str = "docs/host-process-security.md";
const ACCEPTANCE: &str = "docs/acceptance.md";
/// Groups of behaviour that upstream's tests pin.
const GROUPS: usize = 9;
const PASSES: &str = "applies and passes";
const REPLACED: &str = "replaced by";
const NOT_YET: &str = "applies, not yet";
const NOT_APPLICABLE: &str = "not applicable";

/// What the tables of proposals 000 and 001 ask about, and their open questions.
const GUIDED: [&str; 22] = [
    "privileged",
    "hostPID",
    "hostIPC",
    "hostNetwork",
    "volumes",
    "Host paths",
    "FlexVolume",
    "fsGroup",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "allowPrivilegeEscalation",
    "capabilities",
    "seLinuxOptions",
    "seccompProfile",
    "appArmorProfile",
    "sysctls",
    "UI restrictions",
    "gMSA",
    "Service meshes",
    "Other network compartments",
    "CSI proxy",
];

/// One row of a table of upstream tests.
struct Row<'a> {
    /// How many tests it names.
    tests: usize,
    verdict: &'a str,
    /// What stands beside it.
    why: &'a str,
}

fn page(path: &str) -> String {
    let path = repo_root().expect("root").join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Upstream's tests are in backticks in the first cell.
fn rows(page: &str) -> Vec<Row<'_>> {
    page.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| row(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn row(line: &str) -> Result<Row<'_>, &'static str> {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [first, _, last] = cells[..] else { return Err("wanted test, asserts, verdict") };
    let (verdict, why) =
        last.strip_prefix("**").and_then(|rest| rest.split_once("** ")).ok_or("no verdict first")?;
    Ok(Row { tests: first.matches('`').count() / 2, verdict, why })
}

/// Tests of ours: `FILE.rs::FUNCTION` in backticks.
fn named(text: &str) -> Vec<(&str, &str)> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter_map(|word| word.split_once("::")).filter(|(file, _)| file.ends_with(".rs")).collect()
}

fn is_requirement(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once('-')
        .is_some_and(|(group, number)| ["HP", "RT", "KA", "WC"].contains(&group) && digits(number))
}

impl Row<'_> {
    fn is_complete(&self) -> bool {
        match self.verdict {
            PASSES | REPLACED => !named(self.why).is_empty(),
            NOT_YET => self.why.split_whitespace().next().is_some_and(is_requirement),
            NOT_APPLICABLE => !self.why.trim().is_empty(),
            _ => false,
        }
    }
}

fn has_test(root: &Path, file: &str, function: &str) -> bool {
    let text = fs::read_to_string(root.join(file)).unwrap_or_default();
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "#[test]");
    let start = format!("fn {function}(");
    let mut is_test = false;
    lines.any(|line| {
        let found = is_test && line.starts_with(&start);
        is_test = line == "#[test]" || (is_test && line.starts_with(['#', '/']));
        found
    })
}

// proves: HP-36 docs
#[test]
fn every_test_of_ours_on_the_pages_exists() {
    let root = repo_root().expect("root");
    for path in [TRIAGE, GUIDANCE, ACCEPTANCE] {
        let page = page(path);
        let named = named(&page);
        assert!(!named.is_empty(), "{path} names no test of ours");
        for (file, function) in named {
            assert!(has_test(&root, file, function), "{path} names {file}::{function}, which is no test");
        }
    }
}

// proves: HP-36 docs
#[test]
fn every_upstream_test_has_a_verdict_and_what_the_verdict_needs() {
    let page = page(TRIAGE);
    let rows = rows(&page);
    assert!(rows.len() > 90, "{} rows", rows.len());
    for row in rows {
        assert!(row.is_complete(), "{} {}", row.verdict, row.why);
    }
}

#[test]
fn the_triage_counts_right() {
    let page = page(TRIAGE);
    let rows = rows(&page);
    for verdict in [PASSES, REPLACED, NOT_YET, NOT_APPLICABLE] {
        let count: usize = rows.iter().filter(|row| row.verdict == verdict).map(|row| row.tests).sum();
        let line = page.lines().find(|line| line.starts_with(&format!("| **{verdict}** |"))).expect("a line");
        assert!(line.ends_with(&format!("| {count} |")), "{count}: {line}");
    }
}

#[test]
fn the_triage_is_of_the_version_that_we_build() {
    let server = GO_TOOLS.iter().find(|tool| tool.name == "kube-apiserver").expect("in the table");
    assert!(page(TRIAGE).contains(&format!("Kubernetes {},", server.version)), "{}", server.version);
}

#[test]
fn the_readme_names_the_versions_of_rust_and_go_that_are_wanted() {
    let cargo: toml::Table = page("Cargo.toml").parse().expect("TOML");
    let rust = cargo["workspace"]["package"]["rust-version"].as_str().expect("a version");
    let go = GO_TOOLS.iter().map(|tool| wanted_go(&page(&format!("{}/go.mod", tool.module))));
    let go = go.max().expect("a module").map(|part| part.to_string()).join(".");
    let error = format!("needs Go {go} or newer");
    assert!(
        page("testbed/src/tools/go.rs").contains(&error),
        "whoever has an older one is not told: {error}"
    );
    let readme = page("README.md");
    for wanted in [format!("Rust {rust} "), format!("Go {go} ")] {
        assert!(readme.contains(&wanted), "README.md does not say {wanted}");
    }
}

/// The version in a module's line `go 1.26.0`.
fn wanted_go(module: &str) -> [u32; 3] {
    let line = module.lines().find_map(|line| line.strip_prefix("go ")).expect("a version");
    let parts: Vec<u32> = line.split('.').map(|part| part.parse().expect("a number")).collect();
    parts.try_into().expect("three parts")
}

#[test]
fn the_guidance_answers_every_row_of_the_proposals() {
    let page = page(GUIDANCE);
    for asked in GUIDED {
        let answered = page.lines().any(|line| line.starts_with(['|', '#']) && line.contains(asked));
        assert!(answered, "{GUIDANCE} has no row or section on {asked}");
    }
}

/// A row of the acceptance page: group, behaviour, level, and a test of that level or why there is none.
fn accepted(line: &str) -> Result<usize, &'static str> {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let [group, behaviour, level, shown] = cells[..] else { return Err("wanted four cells") };
    let group = group.parse().map_err(|_| "the group is no number")?;
    let tests = named(shown);
    let fits = |file: &str| match level {
        "twin" => file.contains("/twin_"),
        "wine" | "sim" => file.contains("/wine_"),
        _ => file.contains("/src/"),
    };
    match (level, &tests[..]) {
        ("none", []) if shown.starts_with("not shown: ") && !behaviour.is_empty() => Ok(group),
        ("pure" | "twin" | "wine" | "sim", [_, ..]) if tests.iter().all(|(file, _)| fits(file)) => Ok(group),
        _ => Err("neither a test of the level nor a reason"),
    }
}

#[test]
fn every_group_of_behaviour_is_shown_or_says_why_not() {
    let page = page(ACCEPTANCE);
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| group"));
    let groups: Vec<usize> =
        rows.map(|line| accepted(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect();
    assert!(groups.is_sorted());
    (1..=GROUPS).for_each(|group| assert!(groups.contains(&group), "group {group} is missing"));
    assert!(accepted("| 1 | x | wine | `a/twin_b.rs::c` |").is_err());
    assert!(accepted("| 1 | x | none | some day |").is_err());
    assert_eq!(accepted("| 2 | x | twin | `a/tests/twin_b.rs::c` |"), Ok(2));
}

#[test]
fn what_is_missing_is_seen() {
    let complete = |line| row(line).map(|row| row.is_complete());
    assert_eq!(complete("| `X` | y | **not applicable** Linux only |"), Ok(true));
    assert_eq!(complete("| `X` | y | **applies, not yet** HP-29; later |"), Ok(true));
    assert_eq!(complete("| `X` | y | **applies, not yet** some day |"), Ok(false));
    assert_eq!(complete("| `X` | y | **replaced by** a test |"), Ok(false));
    assert_eq!(complete("| `X` | y | **replaced by** `a/b.rs::c` |"), Ok(true));
    assert_eq!(complete("| `X` | y | **maybe** `a/b.rs::c` |"), Ok(false));
    assert!(row("| `X` | y | passes |").is_err());
    assert!(row("| `X` | **not applicable** why |").is_err());
    let root = repo_root().expect("root");
    assert!(has_test(&root, "xtask/src/status/pages.rs", "what_is_missing_is_seen"));
    assert!(!has_test(&root, "xtask/src/status/pages.rs", "is_requirement"));
    assert!(!has_test(&root, "xtask/src/status/pages.rs", "what_is_missing"));
    assert!(!has_test(&root, "xtask/src/status/nothing.rs", "what_is_missing_is_seen"));
}
