//! `porthole image fsck`: is everything that is stored what it claims to be?

use clap::Args;
use images::fsck::{Finding, Findings, Outcome as Fate, Problem};
use serde::Serialize;

use super::amount::bytes;
use super::{depot, show, store};
use crate::cli::{Output, Root};
use crate::failure::{Outcome, code};
use crate::table::table;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image fsck
  porthole image fsck --repair      remove what is damaged: the next pull brings it again

Reads every blob. Exit code 1 if something was found and not repaired.";

#[derive(Debug, Args)]
pub struct FsckArgs {
    /// Remove what is damaged, incomplete or belongs to nothing
    #[arg(long)]
    repair: bool,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// As `-o json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    blobs: u64,
    bytes: u64,
    layers: u64,
    images: u64,
    findings: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    kind: &'static str,
    path: String,
    problem: String,
    /// What became of it.
    outcome: String,
    repaired: bool,
}

pub(super) fn fsck(args: &FsckArgs) -> Outcome {
    let findings = store(&args.root)?.content().fsck(args.repair).map_err(depot)?;
    let checked = Checked::of(&findings);
    show(&checked, args.output, || checked.text())?;
    Ok(if findings.is_sound() { code::OK } else { code::NO })
}

fn kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::DamagedBlob { .. } => "damaged-blob",
        Problem::DamagedLayer { .. } => "damaged-layer",
        Problem::Unsettled => "unsettled",
        Problem::Unreadable { .. } => "unreadable",
        Problem::Incomplete { .. } => "incomplete",
        Problem::NoRecord { .. } => "no-record",
        Problem::Dangling { .. } => "dangling",
        Problem::Orphan { .. } => "orphan",
        Problem::Stranger => "stranger",
    }
}

// === impl Checked ===

impl Checked {
    fn of(findings: &Findings) -> Checked {
        let line = |finding: &Finding| Line {
            kind: kind(&finding.problem),
            path: finding.path.display().to_string(),
            problem: finding.problem.to_string(),
            outcome: finding.outcome.to_string(),
            repaired: finding.outcome == Fate::Removed,
        };
        Checked {
            blobs: findings.blobs,
            bytes: findings.bytes,
            layers: findings.layers,
            images: findings.images,
            findings: findings.found.iter().map(line).collect(),
        }
    }

    fn text(&self) -> String {
        let row = |line: &Line| vec![line.path.clone(), line.problem.clone(), line.outcome.clone()];
        let rows: Vec<_> = self.findings.iter().map(row).collect();
        let found = if rows.is_empty() {
            String::new()
        } else {
            table(&["PATH", "PROBLEM", "OUTCOME"], &rows) + "\n"
        };
        let Checked { blobs, layers, images, .. } = self;
        let looked =
            format!("{blobs} blobs ({}), {layers} unpacked layers, {images} images", bytes(self.bytes));
        match rows.len() {
            0 => format!("{looked}: nothing found\n"),
            count => format!("{found}{looked}: {count} found\n"),
        }
    }
}
