//! Making a pod ours: a new one, the one we left, or in place of one that has changed.

use std::time::Duration;

use super::event::What;
use super::{Life, RunError, config, volumes};
use crate::admit::Admitted;
use crate::error::RuntimeError;
use crate::layout::PodDir;
use crate::pins::{self, Owner};
use crate::pods::PodStatus;
use crate::record::{self, PodRecord, PodState};

/// Whether this very pod has been taken up here before.
pub(super) fn is_here(pod: &Admitted, dir: &PodDir) -> bool {
    let origin =
        record::read::<PodRecord>(&dir.record()).ok().flatten().and_then(|record| record.config.origin);
    origin.is_some_and(|origin| origin.spec_digest == pod.spec_digest)
}

/// Puts the pod in order: what runs in it, if anything, is this very pod.
pub(super) fn settle(life: &Life) -> Result<(), RunError> {
    let pod = || life.pod.full_name();
    let mut config = config::of_pod(&life.pod, life.runtime.node());
    match life.runtime.pod_status(&life.id) {
        Ok(before) if config::is_unchanged(&before.config, &config) && before.state == PodState::Ready => {
            config = before.config;
        }
        Ok(before) => {
            if !config::is_unchanged(&before.config, &config) {
                life.tell(None, What::Replacing);
            }
            replace(life, &before)?;
        }
        Err(RuntimeError::NoPod(_)) => {}
        Err(source) => return Err(RunError::Runtime { pod: pod(), source }),
    }
    life.runtime.run_pod(config).map_err(|source| RunError::Runtime { pod: pod(), source })?;
    volumes::make(&life.pod, &life.runtime.node().layout.pod(&life.id))
}

fn replace(life: &Life, before: &PodStatus) -> Result<(), RunError> {
    let failed = |source| RunError::Replace { pod: life.pod.full_name(), source };
    let grace =
        before.config.origin.as_ref().map_or(Duration::ZERO, |it| Duration::from_secs(it.grace_seconds));
    life.ask_all(grace);
    for container in &before.containers {
        // What does not end in its time is killed by the removal.
        drop(life.runtime.stop(&container.id, grace));
    }
    life.runtime.remove_pod(&life.id).map_err(failed)?;
    let owner = Owner::of_config(&before.config);
    let pod = life.pod.full_name();
    pins::release(life.runtime.node(), &owner).map_err(|source| RunError::Images { pod, source })
}
