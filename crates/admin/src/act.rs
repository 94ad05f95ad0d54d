//! Carrying out a request on a runtime: the agent's own, or the one that a verb opened for itself.

use std::time::Duration;

use holder::client::{ClientError, Stream};
use holder::protocol::Refusal as HolderRefusal;
use runtime::config::ExecRequest;
use runtime::error::chain;
use runtime::pods::{ContainerStats, PodStats};
use runtime::record::State;
use runtime::{PodId, Runtime, RuntimeError};

use crate::protocol::{ContainerUsage, Exec, PodUsage, Refusal, Refused, Request};

/// What came of a request.
#[derive(Debug)]
pub enum Done {
    Nothing,
    Stats(Vec<PodUsage>),
    Streaming(Stream),
}

pub fn act(runtime: &Runtime, request: Request) -> Result<Done, Refused> {
    match request {
        Request::Hello { .. } => Ok(Done::Nothing),
        Request::Stop { pod, grace_ms } => {
            let grace = grace_ms.map(Duration::from_millis);
            runtime.stop_pod_within(&pod, grace).map_err(refused)?;
            Ok(Done::Nothing)
        }
        Request::Remove { pod, force } => remove(runtime, &pod, force),
        Request::Stats { pods } => stats(runtime, &pods),
        Request::Exec(exec) => run(runtime, exec),
        Request::Attach { container, stdin } => {
            Ok(Done::Streaming(runtime.attach(&container, stdin).map_err(refused)?))
        }
    }
}

fn remove(runtime: &Runtime, pod: &PodId, force: bool) -> Result<Done, Refused> {
    let status = runtime.pod_status(pod).map_err(refused)?;
    let running = status.containers.iter().find(|container| container.state == State::Running);
    if let Some(container) = running.filter(|_| !force) {
        let (name, container) = (status.config.full_name(), &container.config.name);
        let message = format!("{name} runs (container {container}): stop it first, or use --force");
        return Err(Refused::new(Refusal::State, message));
    }
    runtime.discard_pod(pod).map_err(refused)?;
    Ok(Done::Nothing)
}

fn stats(runtime: &Runtime, pods: &[PodId]) -> Result<Done, Refused> {
    let found = if pods.is_empty() {
        runtime.all_stats()
    } else {
        pods.iter().map(|pod| runtime.pod_stats(pod)).collect::<Result<_, _>>().map_err(refused)?
    };
    Ok(Done::Stats(found.into_iter().map(usage).collect()))
}

fn usage(stats: PodStats) -> PodUsage {
    let one = |of: ContainerStats| ContainerUsage {
        id: of.id,
        name: of.name,
        job: of.job,
        writable_bytes: of.writable.map(|usage| usage.bytes),
    };
    PodUsage { pod: stats.id, containers: stats.containers.into_iter().map(one).collect() }
}

fn run(runtime: &Runtime, exec: Exec) -> Result<Done, Refused> {
    let Exec { container, argv, stdin, terminal } = exec;
    let request = ExecRequest { argv, stdin, terminal, timeout: None };
    Ok(Done::Streaming(runtime.exec(&container, &request).map_err(refused)?))
}

fn refused(error: RuntimeError) -> Refused {
    let why = match &error {
        RuntimeError::NoPod(_) | RuntimeError::NoContainer(_) => Refusal::Unknown,
        RuntimeError::State { .. } | RuntimeError::PodState { .. } => Refusal::State,
        RuntimeError::Exec { .. } | RuntimeError::ExecRefused { .. } => Refusal::Start,
        RuntimeError::Client(ClientError::Refused { why, .. }) => match why {
            HolderRefusal::Unknown | HolderRefusal::State => Refusal::State,
            HolderRefusal::Start => Refusal::Start,
            HolderRefusal::Taken | HolderRefusal::System => Refusal::System,
        },
        _ => Refusal::System,
    };
    Refused::new(why, chain(&error))
}
