//! critest.exe and crictl.exe under Wine on porthole.exe, over its named pipe; `docs/critest-windows.md` is made from it.
//!
//! Red if fewer specs pass than before, if one does not pass for which `docs/critest-windows.toml` has no reason, or if
//! crictl.exe sees something else than it should.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use testbed::cri::judges::WindowsWorld;
use testbed::tools::{progress, repo_root, windows};

use super::critest::allowed::Allowed;
use super::critest::{CHOICES, Row, rows, version};
use super::{Claim, Trial, directory};
use crate::results;
use crictl::Step;

mod crictl;
mod page;

const PAGE: &str = "docs/critest-windows.md";
const REASONS: &str = "docs/critest-windows.toml";
const PROVES: &[Claim] = &[
    Claim { id: "RT-01", level: "foreign" },
    Claim { id: "RT-01", level: "wine" },
    Claim { id: "HP-23", level: "foreign" },
    Claim { id: "HP-23", level: "wine" },
];

/// What the two clients found.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    critest: String,
    passed: usize,
    seconds: u64,
    crictl: Vec<Step>,
    specs: Vec<Row>,
}

pub(super) fn run(trial: &Trial) -> Result<bool> {
    let allowed = Allowed::read(&repo_root()?, REASONS)?;
    let fixture = windows::build_exe("fixture", "fixture", "dev")?;
    let porthole = match trial.program {
        Some(program) => program.canonicalize().with_context(|| format!("find {}", program.display()))?,
        // The one that the gate judges too.
        None => windows::build_exe("porthole", "porthole", "release")?,
    };
    let begun = Instant::now();
    let (crictl, specs) = judged(&porthole, &fixture)?;
    let passed = allowed.passed(&specs);
    let seconds = begun.elapsed().as_secs();
    conclude(trial, &Found { critest: version("critest")?, passed, seconds, crictl, specs }, &allowed)
}

fn judged(porthole: &Path, fixture: &Path) -> Result<(Vec<Step>, Vec<Row>)> {
    let log = new_log("porthole-wine.log")?;
    let mut world = WindowsWorld::start(porthole, fixture, &log)?;
    let steps = progress::step("crictl.exe on porthole.exe", || crictl::walk(&world))?;
    let mut specs = Vec::new();
    for choice in CHOICES {
        let log = new_log(&format!("critest-wine-{}.log", choice.name))?;
        let title = format!("critest.exe on porthole.exe ({})", choice.name);
        let mark = if choice.args.is_empty() { String::new() } else { format!(" ({})", choice.name) };
        for mut spec in progress::step(&title, || world.critest(*choice, &log))? {
            spec.name += &mark;
            specs.push(spec);
        }
    }
    world.wait_until_nothing_is_left()?;
    Ok((steps, rows(&[], &specs)))
}

/// Where a log goes; what an earlier run left there is gone.
fn new_log(name: &str) -> Result<PathBuf> {
    let path = directory()?.join(name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).context(format!("remove {name}")),
        _ => Ok(path),
    }
}

fn conclude(trial: &Trial, found: &Found, allowed: &Allowed) -> Result<bool> {
    let complaints = allowed.complaints(&found.specs);
    let pass = complaints.is_empty();
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    println!(
        "{} specs: {} pass (at least {}), {} things seen by crictl.exe, {} s; {}",
        found.specs.len(),
        found.passed,
        allowed.passing,
        found.crictl.len(),
        found.seconds,
        if pass { "content" } else { "not content" }
    );
    trial.record(pass, PROVES, found)?;
    let page = page::render(found, allowed);
    let file =
        if trial.proves(pass) { repo_root()?.join(PAGE) } else { directory()?.join("critest-windows.md") };
    results::store(&file, &page)?;
    Ok(pass)
}

#[cfg(test)]
mod tests {
    use super::super::proof_path;
    use super::*;

    #[test]
    fn the_committed_page_is_what_the_committed_proof_says() {
        let root = repo_root().expect("root");
        let allowed = Allowed::read(&root, REASONS).expect("read");
        let text = std::fs::read_to_string(proof_path("critest-wine").expect("path")).expect("a proof");
        let found: Found = serde_json::from_str(&text).expect("read");
        let page = std::fs::read_to_string(root.join(PAGE)).expect("a page");
        assert_eq!(page, page::render(&found, &allowed));
        assert_eq!(allowed.complaints(&found.specs), Vec::<String>::new());
    }
}
