//! Changing what runs: its limits, and where its log goes.

use os::job::JobLimits;
use serde_json::Value;

use super::Runtime;
use crate::error::RuntimeError;
use crate::fail;
use crate::ids::ContainerId;
use crate::prepare::{self, PrepareError};
use crate::record::State;

// === impl Runtime ===

impl Runtime {
    /// New limits, in force at once if the container runs and from its start if it does not yet.
    pub fn update(&self, id: &ContainerId, limits: JobLimits) -> Result<(), RuntimeError> {
        let note = self.inner.container(id)?.1.life().record.config.note.clone();
        self.update_noting(id, limits, note)
    }

    /// The same, with other words to keep for whoever asks.
    pub fn update_noting(
        &self,
        id: &ContainerId,
        limits: JobLimits,
        note: Option<Value>,
    ) -> Result<(), RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        let name = container.life().record.config.name.clone();
        let refused = |source: PrepareError| RuntimeError::Refused { name, source: Box::new(source) };
        prepare::check_limits(&limits).map_err(|e| refused(e.into()))?;
        let _gate = super::lock(&container.gate);
        match container.state() {
            State::Exited => container.expect("change the limits of", State::Running)?,
            State::Running => pod.client()?.update(id.as_str(), limits.clone())?,
            State::Created => {
                if let Some(secret) = &mut container.life().secret {
                    secret.config.limits = limits.clone();
                }
            }
        }
        fail::point("limits-told");
        let written = container.rewrite(|record| (record.config.limits, record.config.note) = (limits, note));
        written.map_err(|source| RuntimeError::Write { path: container.dir.record(), source })
    }

    /// The log goes on in a new file: somebody moved the old one away.
    pub fn reopen_log(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        container.expect("reopen the log of", State::Running)?;
        Ok(pod.client()?.reopen_log(id.as_str())?)
    }
}
