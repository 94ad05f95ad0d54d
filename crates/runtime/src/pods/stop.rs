//! Stopping: init is asked, the whole grace period passes, then the job is killed.

use std::time::Duration;

use holder::client::{Client, ClientError};

use super::{Runtime, lock};
use crate::error::RuntimeError;
use crate::ids::ContainerId;
use crate::record::State;

/// How much longer than its grace period a container may take: to be killed, emptied and recorded.
const PATIENCE: Duration = Duration::from_secs(15);

// === impl Runtime ===

impl Runtime {
    /// Ends a container within the grace period and waits for it. What does not run, or is not there, is stopped.
    pub fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), RuntimeError> {
        if !self.ask_to_stop(id, grace)? {
            return Ok(());
        }
        let (_, container) = match self.inner.container(id) {
            Err(RuntimeError::NoContainer(_)) => return Ok(()),
            other => other?,
        };
        container.wait_for_end(Some(grace.saturating_add(PATIENCE)));
        if container.state() == State::Running && !container.life().gone {
            return Err(RuntimeError::DidNotEnd { id: id.clone() });
        }
        Ok(())
    }

    /// Asks for the end and does not wait; true if there is something to wait for. A second request may shorten the
    /// time of the first, never lengthen it.
    pub fn ask_to_stop(&self, id: &ContainerId, grace: Duration) -> Result<bool, RuntimeError> {
        let (pod, container) = match self.inner.container(id) {
            Err(RuntimeError::NoContainer(_)) => return Ok(false),
            other => other?,
        };
        {
            // A start that is under way comes first.
            let _gate = lock(&container.gate);
            if container.state() != State::Running {
                return Ok(false);
            }
        }
        match Client::connect(&pod.endpoint).and_then(|mut client| client.stop(id.as_str(), grace)) {
            // It ended between the two questions, or its holder did and took it along.
            Err(ClientError::Refused { .. }) => Ok(true),
            Err(e) if e.is_absent() => Ok(true),
            other => Ok(other.map(|()| true)?),
        }
    }
}
