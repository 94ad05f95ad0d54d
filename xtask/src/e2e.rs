//! `cargo xtask e2e`: the slow suites of other projects (critest, e2e.test, sonobuoy), by name.

use anyhow::Result;

/// One slow suite; its verdict is committed as `docs/proofs/NAME.json`.
#[derive(Debug)]
struct Suite {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<()>,
}

/// Empty until there is a CRI service and a node for them to judge.
const SUITES: &[Suite] = &[];

pub(crate) fn run() -> Result<()> {
    println!("{:<20} what", "suite");
    for suite in SUITES {
        println!("{:<20} {}", suite.name, suite.what);
        (suite.run)()?;
    }
    if SUITES.is_empty() {
        println!("no slow suites yet: they need the CRI service and the node agent");
    }
    Ok(())
}
