//! One container of a pod: attempt after attempt, until it has ended for good.

use std::time::{Duration, Instant};

use holder::clock;
use holder::exit::{ExitReason, ExitRecord, START_ERROR_CODE};
use images::Image;

use super::backoff::Backoff;
use super::event::What;
use super::{Life, config};
use crate::admit::Asked;
use crate::config::ContainerConfig;
use crate::error::{RuntimeError, chain};
use crate::ids::ContainerId;
use crate::pods::{ContainerFilter, ContainerStatus};
use crate::record::{State, Waiting};

/// One container at work.
struct Worker<'a> {
    pod: &'a Life,
    asked: &'a Asked,
    image: &'a Image,
    attempt: u32,
}

/// How things stand with the present attempt.
enum Now {
    ToStart,
    Running(ContainerId),
    Ended(ExitRecord),
}

// === impl Life ===

impl Life {
    /// Runs the container until it will not be started again; its last exit code.
    pub(super) fn work(&self, asked: &Asked, image: &Image) -> u32 {
        Worker { pod: self, asked, image, attempt: 0 }.run()
    }
}

// === impl Worker ===

impl Worker<'_> {
    fn run(&mut self) -> u32 {
        let mut backoff = Backoff::default();
        let mut now = self.take_up();
        loop {
            let began = Instant::now();
            let record = match now {
                Now::Ended(record) => record,
                Now::Running(id) => self.wait(&id),
                // The end was asked for first: what does not run stays so.
                Now::ToStart if self.pod.is_ending() => return 0,
                Now::ToStart => self.start_and_wait(),
            };
            let code = record.code;
            self.tell(What::Ended(record));
            if self.pod.is_ending() || !self.pod.restart.restarts(self.asked.kind, code) {
                return code;
            }
            let delay = backoff.after(began.elapsed());
            self.note_backoff(delay);
            if self.pod.stop.wait_or(delay, || self.pod.taken().is_some()) {
                return code;
            }
            self.forget_the_one_before();
            self.attempt += 1;
            now = Now::ToStart;
        }
    }

    /// What an earlier agent left of this container: its last attempt.
    fn take_up(&mut self) -> Now {
        let Some(last) = self.attempts().pop() else { return Now::ToStart };
        self.attempt = last.config.attempt;
        match (last.state, last.exit) {
            (State::Created, _) => Now::ToStart,
            (State::Running, _) => {
                if let Some(pid) = last.pid {
                    self.tell(What::Adopted { pid, attempt: self.attempt });
                }
                Now::Running(last.id)
            }
            (State::Exited, Some(exit)) => Now::Ended(exit),
            (State::Exited, None) => Now::Ended(self.own_record("its exit record cannot be read".to_owned())),
        }
    }

    fn attempts(&self) -> Vec<ContainerStatus> {
        let of_pod = ContainerFilter { pod: Some(self.pod.id.clone()), ..ContainerFilter::default() };
        let mut all = self.pod.runtime.containers(&of_pod);
        all.retain(|container| container.config.name == self.name());
        all.sort_by_key(|container| container.config.attempt);
        all
    }

    fn start_and_wait(&mut self) -> ExitRecord {
        let node = self.pod.runtime.node();
        let config = config::of_container(&self.pod.pod, self.asked, self.image, node, self.attempt);
        let config = match config {
            Ok(config) => config,
            Err(e) => return self.own_record(chain(&e)),
        };
        match self.create(&config) {
            Ok(id) => self.start(&id),
            Err(e) => {
                if let Err(e) = self.pod.runtime.keep_refusal(&self.pod.id, &config, &e) {
                    self.warn(&format!("keep why it was refused: {}", chain(&e)));
                }
                self.own_record(said(&e))
            }
        }
    }

    fn create(&self, config: &ContainerConfig) -> Result<ContainerId, RuntimeError> {
        let create = || self.pod.runtime.create(&self.pod.id, config.clone());
        match create() {
            // An earlier agent made it for an image, or out of an environment, that is another one now.
            Err(RuntimeError::Taken { .. }) => {
                self.pod.runtime.remove(&ContainerId::of(&self.pod.id, &config.name, config.attempt))?;
                create()
            }
            other => other,
        }
    }

    fn start(&self, id: &ContainerId) -> ExitRecord {
        match self.pod.runtime.start(id) {
            Ok(pid) => {
                self.tell(What::Started { pid, attempt: self.attempt });
                // A stop that came while we were starting did not see this container.
                if let Some(grace) = self.pod.stop.grace()
                    && let Err(e) = self.pod.runtime.ask_to_stop(id, grace)
                {
                    self.warn(&format!("stop: {}", chain(&e)));
                }
                self.wait(id)
            }
            Err(e) => self.own_record(said(&e)),
        }
    }

    fn wait(&self, id: &ContainerId) -> ExitRecord {
        self.pod.runtime.wait(id).unwrap_or_else(|e| self.own_record(chain(&e)))
    }

    fn own_record(&self, message: String) -> ExitRecord {
        let now = clock::now();
        ExitRecord {
            v: 1,
            id: self.name().to_owned(),
            code: START_ERROR_CODE,
            signal: None,
            reason: ExitReason::StartError,
            started: now.clone(),
            finished: now,
            message: Some(message),
        }
    }

    fn note_backoff(&self, delay: Duration) {
        let message = format!("starts again in {} s", delay.as_secs());
        let waiting = Waiting { reason: "CrashLoopBackOff".to_owned(), message };
        let id = ContainerId::of(&self.pod.id, self.name(), self.attempt);
        match self.pod.runtime.note_waiting(&id, waiting) {
            // Refused before it had a record.
            Ok(()) | Err(RuntimeError::NoContainer(_)) => {}
            Err(e) => self.warn(&chain(&e)),
        }
        self.tell(What::BackingOff { delay });
    }

    /// Of past attempts only the last one's log and end are kept: nothing may grow with restarts.
    fn forget_the_one_before(&self) {
        for old in self.attempts().iter().filter(|old| old.config.attempt < self.attempt) {
            if let Err(e) = self.pod.runtime.remove(&old.id) {
                self.warn(&format!("remove attempt {}: {}", old.config.attempt, chain(&e)));
            }
        }
    }

    fn name(&self) -> &str {
        &self.asked.container.name
    }

    fn tell(&self, what: What) {
        self.pod.tell(Some(self.name()), what);
    }

    fn warn(&self, text: &str) {
        self.tell(What::Warning(text.to_owned()));
    }
}

/// The cause alone: whose container it is stands before it already.
fn said(error: &RuntimeError) -> String {
    match error {
        RuntimeError::Refused { source, .. } => chain(source),
        other => chain(other),
    }
}
