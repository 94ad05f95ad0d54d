//! Why the runtime did not do what it was asked.

use std::io;
use std::path::PathBuf;

use holder::client::ClientError;

use crate::effects::{EffectError, UndoError};
use crate::holders::HolderError;
use crate::ids::{BadId, ContainerId, PodId};
use crate::journal::JournalError;
use crate::prepare::PrepareError;
use crate::record::{PodState, State};

#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error(transparent)]
    Id(#[from] BadId),
    #[error("no pod {0}")]
    NoPod(PodId),
    #[error("no container {0}")]
    NoContainer(ContainerId),
    #[error("{verb} container {id}: it is {found:?}, wanted {wanted}")]
    State { verb: &'static str, id: ContainerId, found: State, wanted: &'static str },
    #[error("{verb} pod {id}: it is {found:?}, wanted Ready")]
    PodState { verb: &'static str, id: PodId, found: PodState },
    #[error(transparent)]
    PodRefused(#[from] PodRefused),
    #[error("there is a {what} {id} already, with another configuration")]
    Taken { what: &'static str, id: String },
    #[error("the record of pod {id} cannot be read, and what is there of it is left as it is: {message}")]
    Damaged { id: PodId, message: String },
    #[error("container {name}: {source}")]
    Refused { name: String, source: Box<PrepareError> },
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("container {id} did not end")]
    DidNotEnd { id: ContainerId },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("release the image")]
    Images(#[from] images::DepotError),
    #[error("{}", .0.join("; "))]
    Several(Vec<String>),
    #[error("run {program:?} in container {id}: {source}")]
    Exec { program: String, id: ContainerId, source: Box<PrepareError> },
    #[error("run something in container {id}: {why}")]
    ExecRefused { id: ContainerId, why: &'static str },
}

/// A pod that is never run here, whatever else is right about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PodRefused {
    #[error(
        "a HostProcess pod runs on the host itself, and handler {0:?} puts pods into a virtual machine: \
         use a RuntimeClass without Hyper-V"
    )]
    HypervisorHandler(String),
    #[error(
        "hostNetwork on Windows is for HostProcess pods alone: set hostProcess: true or leave hostNetwork out"
    )]
    HostNetwork,
    #[error("not a HostProcess pod: isolated containers are not supported yet")]
    Isolated,
    #[error(transparent)]
    Mode(#[from] crate::config::UnknownMode),
}

/// Why a container did not come to run: it is `Exited` with the reason `StartError` and code 128 then.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "its variables are not known any more, as the agent that was told them is gone: make the container again"
    )]
    Forgotten,
    #[error(transparent)]
    Prepare(#[from] Box<PrepareError>),
    #[error("make {what}")]
    Make { what: String, source: io::Error },
    #[error("log on as {name}")]
    Account { name: String, source: io::Error },
    #[error(transparent)]
    Effect(#[from] EffectError),
    #[error(transparent)]
    Holder(#[from] HolderError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("write the container's record")]
    Record(#[source] io::Error),
}

/// An error with all its causes, on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
