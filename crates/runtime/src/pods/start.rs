//! Starting a container: every effect written down, then done, then the holder is told.
//!
//! What fails becomes an end that a kubelet understands: `Exited`, `StartError`, 128, with the cause.

mod make;
mod view;

use std::time::Duration;

use holder::client::{Client, ClientError};
use holder::clock;
use holder::exit::{ExitReason, ExitRecord, START_ERROR_CODE};
use holder::protocol::{Held, Refusal, Started};
use os::user::Identity;

use super::{Container, Happened, Pod, Runtime, lock};
use crate::config::ContainerConfig;
use crate::error::{RuntimeError, StartError, chain};
use crate::fail;
use crate::holders::{self, HolderError};
use crate::ids::ContainerId;
use crate::journal::{Effect, Journal};
use crate::prepare::{self, Prepared, Whom};
use crate::record::State;

/// One start, with everything it needs at hand.
struct Starting<'a> {
    runtime: &'a Runtime,
    pod: &'a Pod,
    container: &'a Container,
    config: &'a ContainerConfig,
    journal: Journal,
    warnings: Vec<String>,
}

/// The end of a container that never began.
pub(super) fn start_error(id: &ContainerId, message: String) -> ExitRecord {
    let now = clock::now();
    ExitRecord {
        v: 1,
        id: id.to_string(),
        code: START_ERROR_CODE,
        signal: None,
        reason: ExitReason::StartError,
        started: now.clone(),
        finished: now,
        message: Some(message),
    }
}

// === impl Runtime ===

impl Runtime {
    /// Starts a container that was made; the number of its process.
    pub fn start(&self, id: &ContainerId) -> Result<u32, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        let gate = lock(&container.gate);
        container.expect("start", State::Created)?;
        match self.launch(&pod, &container) {
            Ok(Started { pid, started }) => {
                let mut life = container.life();
                (life.pid, life.started, life.launching) = (Some(pid), started, false);
                drop(life);
                self.tell(&pod, Some(&container), Happened::Started { pid });
                self.watch(&pod, &container);
                Ok(pid)
            }
            Err(e) => {
                // A holder that was told and did not answer may have started it all the same.
                drop(Client::connect(&pod.endpoint).and_then(|mut it| it.stop(id.as_str(), Duration::ZERO)));
                let exit = start_error(id, chain(&e));
                self.record_end(&container, &exit);
                self.tell(&pod, Some(&container), Happened::Exited(exit));
                self.clean_up(&pod, &container);
                drop(gate);
                let error = RuntimeError::from(e);
                self.met_if_known(&pod, Some(&container), &error);
                Err(error)
            }
        }
    }

    fn launch(&self, pod: &Pod, container: &Container) -> Result<Started, StartError> {
        let config = container.life().secret.as_ref().map(|secret| secret.config.clone());
        let config = config.ok_or(StartError::Forgotten)?;
        let prepared = self.prepare(pod, container, &config, None)?;
        let boot_id = self.inner.node.facts.boot_id.clone();
        let own = prepared.whom == Whom::Own;
        let changed = container.begin_launch(|record| {
            (record.state, record.boot_id) = (State::Running, boot_id);
            record.room = Some(prepared.room.clone());
            record.identity = own.then_some(Identity::Own);
        });
        changed.map_err(StartError::Record)?;
        fail::point("start-recorded");
        let mut journal = Journal::open(&container.dir.journal())?;
        journal.record(&Effect::Job(self.inner.node.layout.job(&container.id)))?;
        fail::point("job-noted");
        let mut starting =
            Starting { runtime: self, pod, container, config: &config, journal, warnings: Vec::new() };
        let launch = starting.make(prepared)?;
        for warning in std::mem::take(&mut starting.warnings) {
            self.tell(pod, Some(container), Happened::Warning(warning));
        }
        let mut holder = self.holder(pod)?;
        fail::point("launch");
        let started = match holder.start(launch) {
            // An earlier agent's words arrived after all; or a holder of an earlier version does not say when.
            Err(ClientError::Refused { why: Refusal::Taken, .. }) | Ok(Started { started: None, .. }) => {
                held(&mut holder, &container.id)?
            }
            other => other?,
        };
        fail::point("launched");
        Ok(started)
    }

    fn prepare(
        &self,
        pod: &Pod,
        container: &Container,
        config: &ContainerConfig,
        account: Option<Vec<(String, String)>>,
    ) -> Result<Prepared, StartError> {
        let pod = lock(&pod.record).config.clone();
        prepare::prepare(self.host(), &pod, config, &container.id, &container.dir, account)
            .map_err(|e| StartError::Prepare(Box::new(e)))
    }

    /// The pod's holder: the one that runs, or a new one.
    fn holder(&self, pod: &Pod) -> Result<Client, StartError> {
        let _one = lock(&pod.holder);
        match Client::connect(&pod.endpoint) {
            Err(e) if e.is_absent() => {}
            other => return Ok(other.map_err(HolderError::from)?),
        }
        let effect = Effect::Holder { endpoint: pod.endpoint.clone() };
        if !Journal::read(&pod.dir.journal())?.contains(&effect) {
            Journal::open(&pod.dir.journal())?.record(&effect)?;
        }
        fail::point("holder-noted");
        let client = holders::start(&self.inner.node.holder_program, &pod.endpoint, &pod.dir.holder_log())?;
        fail::point("holder-started");
        Ok(client)
    }
}

/// What the holder says of it.
fn held(holder: &mut Client, id: &ContainerId) -> Result<Started, ClientError> {
    let held = holder.list()?.into_iter().find(|held| held.id == id.as_str());
    Ok(held.map_or_else(
        || Started { pid: 0, started: Some(clock::now()) },
        |Held { pid, started, .. }| Started { pid, started: Some(started) },
    ))
}
