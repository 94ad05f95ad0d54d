//! `docs/critest.md`: a row per spec.

use testbed::cri::ginkgo::Outcome;

use super::allowed::Allowed;
use super::{Found, Row};

pub(super) fn render(found: &Found, allowed: &Allowed) -> String {
    let peers = found.specs.iter().filter(|row| row.peer == Some(Outcome::Passed)).count();
    let head = format!(
        "# critest

Made by `cargo xtask e2e critest`; do not edit. The validation suite of CRI, critest {}, on porthole's twin with the
handler `hostprocess`, and beside it on containerd {} with runc, each in a machine of its own with a registry on its
loopback. Of {} specs {} pass with porthole and {peers} with containerd. HostProcess containers have their host's
files, network and processes: that is what they are for, and why specs about isolation do not pass. Every spec that
does not pass needs a reason in `critest.toml`; a pass that shows nothing is not counted. Specs about streams run over
SPDY and, marked, over WebSocket.

",
        found.critest,
        found.containerd,
        found.specs.len(),
        found.passed
    );
    let mut page = head;
    let mut group = "";
    for row in &found.specs {
        let (of, _) = split(&row.name);
        if of != group {
            group = of;
            page +=
                &format!("\n## {group}\n\n| spec | containerd | porthole | why not |\n|---|---|---|---|\n");
        }
        page += &line(row, allowed);
    }
    page.replace("\n\n\n", "\n\n")
}

fn line(row: &Row, allowed: &Allowed) -> String {
    let (_, rest) = split(&row.name);
    let why = why_not(row, allowed);
    format!("| {} | {} | {} | {} |\n", cell(rest), word(row.peer), word(row.ours), cell(&why))
}

/// Why a spec does not pass, or does not count.
pub(in crate::e2e) fn why_not(row: &Row, allowed: &Allowed) -> String {
    match (row.ours, allowed.hollow(&row.name)) {
        (_, Some(why)) => format!("does not count: {why}"),
        (Some(Outcome::Passed), None) => String::new(),
        (_, None) => allowed.why(&row.name).unwrap_or("no reason").to_owned(),
    }
}

pub(in crate::e2e) fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

pub(in crate::e2e) fn word(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Passed) => "passed",
        Some(Outcome::Failed) => "failed",
        Some(Outcome::Skipped) => "skipped",
        None => "not run",
    }
}

/// The first part of a name is its group: `[k8s.io] Container runtime should …`.
pub(in crate::e2e) fn split(name: &str) -> (&str, &str) {
    let name = name.strip_prefix("[k8s.io] ").unwrap_or(name);
    GROUPS
        .iter()
        .find_map(|group| Some((*group, name.strip_prefix(group)?.strip_prefix(' ')?)))
        .unwrap_or(("Other", name))
}

/// The longer ones first: some begin like others.
const GROUPS: &[&str] = &[
    "AppArmor",
    "Container Mount Propagation",
    "Container Mount Readonly",
    "Container OOM",
    "Container",
    "Idempotence",
    "Image Consistency",
    "Image Identifier Consistency",
    "Image Manager",
    "Multiple Containers [Conformance]",
    "Networking",
    "PodSandbox",
    "Runtime info",
    "SELinux",
    "Security Context",
    "Streaming",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_both_results_and_the_reason() {
        let text =
            "passing = 0\n[reason.x]\nwhy = \"a | b\"\nspecs = [\"[k8s.io] Container OOM should end\"]\n";
        let allowed: Allowed = toml::from_str(text).expect("read");
        let row = Row {
            name: "[k8s.io] Container OOM should end".into(),
            peer: Some(Outcome::Passed),
            ours: Some(Outcome::Failed),
            said: String::new(),
        };
        assert_eq!(line(&row, &allowed), "| should end | passed | failed | a \\| b |\n");
        assert_eq!(split(&row.name).0, "Container OOM");
        assert_eq!(split("[k8s.io] Container runtime should").0, "Container");
        assert_eq!(split("else").0, "Other");
    }
}
