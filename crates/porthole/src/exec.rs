//! `porthole exec`: one more process in a container that runs.

use admin::Request;
use admin::protocol::Exec;
use clap::Args;

use crate::cli::Root;
use crate::converse::{self, converse};
use crate::failure::Outcome;
use crate::{door, names};

pub const EXAMPLES: &str = "Examples:
  porthole exec hello -- hostname
  porthole exec -it default/hello -c greeter -- cmd
  tar c . | porthole exec -i hello -- tar x

Exits with the command's own code; 1 if it cannot be run, 3 if the agent cannot be reached.
Ctrl-C ends the stream and, ten seconds later, the command; with -it it is typed into the command's terminal.";

#[derive(Debug, Args)]
pub struct ExecArgs {
    #[arg(help = names::POD_HELP)]
    pub pod: String,
    /// The container [default: the first one]
    #[arg(short, long)]
    pub container: Option<String>,
    /// Pass on our stdin
    #[arg(short = 'i', long)]
    pub stdin: bool,
    /// With a terminal instead of pipes
    #[arg(short, long)]
    pub tty: bool,
    /// What to run
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub root: Root,
}

pub fn exec(args: &ExecArgs) -> Outcome {
    let container =
        names::find(&names::look(&args.root)?, &args.pod)?.container(args.container.as_deref())?;
    let request = Exec {
        container: container.id,
        argv: args.command.clone(),
        stdin: args.stdin,
        terminal: args.tty.then(converse::size),
    };
    let stream = door::stream(door::reach(&args.root)?, Request::Exec(request))?;
    converse(stream, args.stdin, args.tty)
}
