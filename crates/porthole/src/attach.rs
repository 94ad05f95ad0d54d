//! `porthole attach`: the streams of a container that runs.

use admin::Request;
use clap::Args;

use crate::cli::Root;
use crate::converse::converse;
use crate::failure::Outcome;
use crate::{door, names};

pub const EXAMPLES: &str = "Examples:
  porthole attach hello
  porthole attach -it default/shell -c main

Shows what the container writes from now on; ends with the container, whose code `porthole ps` has. Ctrl-C detaches
and leaves the container alone. -i passes on our stdin, which the container must ask for (stdin: true); -t is for one
that has a terminal (tty: true): keys are passed on as they are typed, Ctrl-C too.";

#[derive(Debug, Args)]
pub struct AttachArgs {
    #[arg(help = names::POD_HELP)]
    pub pod: String,
    /// The container [default: the first one]
    #[arg(short, long)]
    pub container: Option<String>,
    /// Pass on our stdin
    #[arg(short = 'i', long)]
    pub stdin: bool,
    /// The container has a terminal: be one
    #[arg(short, long)]
    pub tty: bool,
    #[command(flatten)]
    pub root: Root,
}

pub fn attach(args: &AttachArgs) -> Outcome {
    let container =
        names::find(&names::look(&args.root)?, &args.pod)?.container(args.container.as_deref())?;
    let request = Request::Attach { container: container.id, stdin: args.stdin };
    converse(door::stream(door::reach(&args.root)?, request)?, args.stdin, args.tty)
}
