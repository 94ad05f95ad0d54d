//! `porthole rm`: takes pods off this machine.

use admin::Request;
use clap::Args;

use crate::cli::Root;
use crate::failure::Outcome;
use crate::names;
use crate::stop::to_each;

pub const EXAMPLES: &str = "Examples:
  porthole rm hello
  porthole rm --force default/hello

Removes everything of a pod: its directory, its logs, its volumes, what was made for it on the host. Its images stay
until `porthole image gc`. Exit code 1 if it runs and --force is not there.";

#[derive(Debug, Args)]
pub struct RmArgs {
    #[arg(required = true, value_name = "POD", help = names::POD_HELP)]
    pub pods: Vec<String>,
    /// Kill what runs
    #[arg(short, long)]
    pub force: bool,
    #[command(flatten)]
    pub root: Root,
}

pub fn rm(args: &RmArgs) -> Outcome {
    to_each(&args.root, &args.pods, "removed", |pod| {
        Ok(Request::Remove { pod: pod.id()?, force: args.force })
    })
}
