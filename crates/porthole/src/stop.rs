//! `porthole stop`: ends pods within their grace period.

use std::thread;

use admin::{Agent, Request};
use clap::Args;

use crate::cli::{Root, print};
use crate::failure::{Failure, Outcome};
use crate::names::Named;
use crate::{door, names};

pub const EXAMPLES: &str = "Examples:
  porthole stop hello
  porthole stop --grace 0 default/hello default/other

Waits until they have ended. A pod of a running `porthole up` stays stopped until the next `up`, also if its
restartPolicy is Always; its logs can be read until it is removed.";

#[derive(Debug, Args)]
pub struct StopArgs {
    #[arg(required = true, value_name = "POD", help = names::POD_HELP)]
    pub pods: Vec<String>,
    /// How long they may take before they are killed [default: as each pod says]
    #[arg(long, value_name = "SECONDS")]
    pub grace: Option<u32>,
    #[command(flatten)]
    pub root: Root,
}

pub fn stop(args: &StopArgs) -> Outcome {
    let grace_ms = args.grace.map(|seconds| u64::from(seconds) * 1000);
    to_each(&args.root, &args.pods, "stopped", |pod| Ok(Request::Stop { pod: pod.id()?, grace_ms }))
}

/// Asks the same of every pod, all at once, and says what came of each.
pub(crate) fn to_each(
    root: &Root,
    pods: &[String],
    done: &str,
    request: impl Fn(&Named) -> Result<Request, Failure>,
) -> Outcome {
    let there = names::look(root)?;
    let named = pods.iter().map(|pod| names::find(&there, pod)).collect::<Result<Vec<_>, _>>()?;
    let requests = named.iter().map(request).collect::<Result<Vec<_>, _>>()?;
    let agent = door::reach(root)?;
    let mut outcome = Ok(0);
    for (pod, result) in named.iter().zip(ask_all(&agent, requests)) {
        match result {
            Ok(()) => drop(print(&format!("{} {done}\n", pod.full_name()))?),
            Err(failure) => {
                let failure = Failure { error: failure.error.context(pod.full_name()), ..failure };
                outcome = first(outcome, failure);
            }
        }
    }
    outcome
}

fn ask_all(agent: &Agent, requests: Vec<Request>) -> Vec<Result<(), Failure>> {
    thread::scope(|scope| {
        let asked: Vec<_> =
            requests.into_iter().map(|request| scope.spawn(|| door::ask(agent, request).map(drop))).collect();
        let lost =
            || Failure::new(crate::failure::code::ENVIRONMENT, anyhow::anyhow!("a thread of ours failed"));
        asked.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(lost()))).collect()
    })
}

/// The first failure gives the code; the others are said.
fn first(outcome: Outcome, failure: Failure) -> Outcome {
    match outcome {
        Ok(_) => Err(failure),
        Err(before) => {
            crate::up::say(&failure.line());
            Err(before)
        }
    }
}
