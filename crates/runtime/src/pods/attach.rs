//! Following a container's streams as they come.

use holder::client::Stream;

use super::Runtime;
use crate::error::RuntimeError;
use crate::ids::ContainerId;
use crate::record::State;

// === impl Runtime ===

impl Runtime {
    /// What the container writes from now on and, where it has an input, what it is told.
    pub fn attach(&self, id: &ContainerId, stdin: bool) -> Result<Stream, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        container.expect("attach to", State::Running)?;
        Ok(pod.client()?.attach(id.as_str(), stdin)?)
    }
}
