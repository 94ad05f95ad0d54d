//! `cargo xtask tools`: makes testbed tools ahead of time, for a machine that will have no network later.

use anyhow::Result;
use clap::Args;
use testbed::tools::go::{GO_TOOLS, GoTool};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Go tools, for example kubectl
    names: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    for name in wanted(&options.names, GO_TOOLS) {
        println!("{name} {}", testbed::tools::go_tool(&name)?.display());
    }
    Ok(())
}

fn wanted(names: &[String], table: &[GoTool]) -> Vec<String> {
    match names {
        [] => table.iter().map(|tool| tool.name.to_owned()).collect(),
        named => named.to_vec(),
    }
}
