//! How verbs come to the agent, and what its answers mean for the exit code.

use admin::act::Done;
use admin::client::ClientFailure;
use admin::{Agent, Refusal, Request};
use anyhow::anyhow;

use crate::cli::Root;
use crate::embedded::HOLDER;
use crate::failure::{Exit, Failure, code};

/// The agent of the root, or ourselves in its place.
pub fn reach(root: &Root) -> Result<Agent, Failure> {
    admin::agent::reach(&root.path().or_environment()?, HOLDER).or_environment()
}

/// A refusal about a pod is an answer; everything else is in the way of one.
pub fn ask(agent: &Agent, request: Request) -> Result<Done, Failure> {
    agent.ask(request).map_err(|e| match &e {
        ClientFailure::Refused(refused) => match refused.why {
            Refusal::Unknown | Refusal::State | Refusal::Start => Failure::new(code::NO, e),
            Refusal::Malformed | Refusal::Busy | Refusal::System => Failure::new(code::ENVIRONMENT, e),
        },
        _ => Failure::new(code::ENVIRONMENT, e),
    })
}

/// The same for what gives streams. The lock, if we took it, is free again: the streams are the holder's.
pub fn stream(agent: Agent, request: Request) -> Result<holder::client::Stream, Failure> {
    match ask(&agent, request)? {
        Done::Streaming(stream) => Ok(stream),
        other => Err(Failure::new(code::ENVIRONMENT, anyhow!("wanted streams, found {other:?}"))),
    }
}
