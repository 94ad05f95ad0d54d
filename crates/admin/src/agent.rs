//! Finding the agent of a root or, where there is none, taking its place for as long as the work takes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use os::channel::Endpoint;
use os::file::Lock;
use runtime::layout::Layout;
use runtime::{Node, NodeError, Runtime};

use crate::act::{Done, act};
use crate::client::{Client, ClientFailure};
use crate::protocol::Request;

/// Who carries out what is asked.
#[derive(Debug)]
pub enum Agent {
    /// The process that has the lock.
    There(Endpoint),
    /// Ourselves, with the lock. Streams go on when this is dropped: they are the holder's.
    Here(Runtime),
}

#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    #[error("{root} is in use by {}, which does not answer: wait for it, or end it", name(*.pid))]
    Silent { root: PathBuf, pid: Option<u32> },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Agent(#[from] ClientFailure),
}

/// How long an agent may have the lock before it opens its door, and another verb before it lets go of it.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

fn name(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

/// The agent of this root. `holder_program` is what a node needs to be opened.
pub fn reach(root: &Path, holder_program: &[u8]) -> Result<Agent, ReachError> {
    let layout = Layout::new(root);
    let endpoint = crate::endpoint(&layout);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Client::connect(&endpoint) {
            Ok(_) => return Ok(Agent::There(endpoint)),
            Err(ClientFailure::Absent(_)) => {}
            Err(e @ (ClientFailure::Version(_) | ClientFailure::Refused(_))) => return Err(e.into()),
            Err(_) => return Err(silent(root, Lock::owner(&layout.lock()))),
        }
        match Node::open(root, holder_program) {
            Ok(node) => {
                // An agent that was killed left its door behind; with its lock nobody is there. A later one makes its own.
                drop(os::channel::remove_leftover(&endpoint));
                return Ok(Agent::Here(Runtime::open(node)));
            }
            Err(NodeError::InUse { .. }) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            Err(NodeError::InUse { pid, .. }) => return Err(silent(root, pid)),
            Err(other) => return Err(other.into()),
        }
    }
}

fn silent(root: &Path, pid: Option<u32>) -> ReachError {
    ReachError::Silent { root: root.to_owned(), pid }
}

// === impl Agent ===

impl Agent {
    /// Has it done. Each request is a connection of its own, so several threads may ask at once.
    pub fn ask(&self, request: Request) -> Result<Done, ClientFailure> {
        match self {
            Agent::There(endpoint) => Client::connect(endpoint)?.ask(&request),
            Agent::Here(runtime) => Ok(act(runtime, request)?),
        }
    }
}
