//! One container of a pod: attempt after attempt, until it has ended for good.

use std::io;
use std::time::{Duration, Instant};

use holder::client::{Client, ClientError};
use holder::clock;
use holder::exit::{ExitReason, ExitRecord, START_ERROR_CODE};
use holder::protocol::Refusal;
use images::Image;

use super::backoff::Backoff;
use super::event::What;
use super::{Running, remove};
use crate::admit::Asked;
use crate::fate::{self, Fate, Traces};
use crate::holders::HolderError;
use crate::journal::{Effect, JournalError};
use crate::launch::{self, LaunchError};
use crate::layout::ContainerDir;
use crate::record::{self, ContainerRecord, Intent};

/// Why an attempt did not come to run. Each becomes an exit with the reason `StartError`.
#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Holder(#[from] HolderError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("write the container's record")]
    Record(#[from] io::Error),
}

/// How long to leave a holder alone that did not answer a question it should have.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// One container at work.
struct Worker<'a> {
    pod: &'a Running<'a>,
    asked: &'a Asked,
    image: &'a Image,
    dir: ContainerDir,
    attempt: u32,
    /// The boot in which this attempt was told to start.
    boot_id: String,
}

// === impl Running ===

impl Running<'_> {
    /// Runs the container until it will not be started again; its last exit code.
    pub(super) fn work(&self, asked: &Asked, image: &Image) -> u32 {
        let dir = self.dir.container(&asked.container.name);
        Worker { pod: self, asked, image, dir, attempt: 0, boot_id: String::new() }.run()
    }
}

fn pid_of(holder: &mut Client, id: &str) -> Result<u32, ClientError> {
    Ok(holder.list()?.iter().find(|held| held.id == id).map_or(0, |held| held.pid))
}

// === impl Worker ===

impl Worker<'_> {
    fn run(&mut self) -> u32 {
        let mut backoff = Backoff::default();
        let mut fate = self.take_up();
        loop {
            let began = Instant::now();
            let record = match std::mem::replace(&mut fate, Fate::NotStarted) {
                Fate::Ended(record) => record,
                Fate::Running(_) => self.wait(),
                // The end was asked for first: what does not run stays so.
                Fate::NotStarted if self.pod.stop.is_raised() => return 0,
                Fate::NotStarted => self.start_and_wait(),
            };
            let code = record.code;
            self.tell(What::Ended(record));
            if self.pod.stop.is_raised() || !self.pod.restart.restarts(self.asked.kind, code) {
                return code;
            }
            let delay = backoff.after(began.elapsed());
            self.note_backoff(delay);
            if self.pod.stop.wait(delay) {
                return code;
            }
            self.forget(self.attempt);
            self.attempt += 1;
        }
    }

    /// What an earlier agent left of this container, if it got so far as to mean to start it.
    fn take_up(&mut self) -> Fate {
        match record::read::<ContainerRecord>(&self.dir.record()) {
            Ok(None) => return Fate::NotStarted,
            Ok(Some(record)) => (self.attempt, self.boot_id) = (record.attempt, record.boot_id),
            Err(e) => {
                self.warn(&format!("its record cannot be read, it starts anew: {e}"));
                return Fate::NotStarted;
            }
        }
        let fate = self.fate();
        if let Fate::Running(held) = &fate {
            self.tell(What::Adopted { pid: held.pid, attempt: self.attempt });
        }
        fate
    }

    fn start_and_wait(&mut self) -> ExitRecord {
        match self.start() {
            Ok(pid) => {
                self.tell(What::Started { pid, attempt: self.attempt });
                // A stop that came while we were starting did not see this container.
                if let Some(grace) = self.pod.stop.grace() {
                    self.pod.stop_containers(grace);
                }
                self.wait()
            }
            Err(e) => self.start_error(&e),
        }
    }

    fn start(&mut self) -> Result<u32, StartError> {
        self.pod.node.facts.boot_id.clone_into(&mut self.boot_id);
        let record = ContainerRecord::new(self.attempt, Intent::Start, &self.boot_id);
        record::write(&self.dir.record(), &record)?;
        let job = self.pod.node.layout.job(self.pod.pod.uid, &self.id());
        self.pod
            .journal
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .record(&Effect::Job(job.clone()))?;
        let launch = launch::prepare(self.asked, self.image, self.id(), job, &self.dir, self.attempt)?;
        let mut holder = self.pod.holder()?;
        match holder.start(launch) {
            // An earlier agent's words arrived after all.
            Err(ClientError::Refused { why: Refusal::Taken, .. }) => Ok(pid_of(&mut holder, &self.id())?),
            other => Ok(other?),
        }
    }

    /// Waits for the end, whoever brings the news: the holder, or the silence after it.
    fn wait(&self) -> ExitRecord {
        loop {
            let waited = Client::connect(&self.pod.endpoint).and_then(|mut client| client.wait(&self.id()));
            if let Ok(record) = waited {
                return record;
            }
            match self.fate() {
                Fate::Ended(record) => return record,
                Fate::NotStarted => return self.own_record("it is gone without a trace".to_owned()),
                // The question failed, not the container: ask again, but not in a hurry.
                Fate::Running(_) => std::thread::sleep(ASK_AGAIN),
            }
        }
    }

    /// Asks until there is an answer: a holder that is silent is not a holder that is gone.
    fn fate(&self) -> Fate {
        let (id, exit, log) = (self.id(), self.dir.exit(self.attempt), self.dir.log(self.attempt));
        let boots = [self.boot_id.as_str(), &self.pod.node.facts.boot_id];
        let traces = Traces { id: &id, exit: &exit, log: &log, boots };
        let mut warned = false;
        let held = loop {
            match fate::held(&self.pod.endpoint) {
                Ok((_, held)) => break held,
                Err(e) if !std::mem::replace(&mut warned, true) => self.warn(&remove::chain(&e)),
                Err(_) => {}
            }
            if self.pod.stop.wait(ASK_AGAIN) {
                return Fate::Ended(self.own_record("its holder does not answer".to_owned()));
            }
        };
        match traces.fate(held) {
            Ok(Fate::Ended(record)) if record.reason == ExitReason::HolderDied => {
                self.bury(&record);
                Fate::Ended(record)
            }
            Ok(fate) => fate,
            Err(e) => Fate::Ended(self.own_record(format!("its exit record cannot be read: {e}"))),
        }
    }

    /// The holder died: what it could not end is ended, and the end written down in its stead.
    fn bury(&self, record: &ExitRecord) {
        let job = self.pod.node.layout.job(self.pod.pod.uid, &self.id());
        if let Err(e) = os::job::sweep(&job) {
            self.warn(&format!("end what its holder left: {e}"));
        }
        self.write_exit(record);
    }

    fn start_error(&self, error: &StartError) -> ExitRecord {
        let record = self.own_record(remove::chain(error));
        self.write_exit(&record);
        record
    }

    fn own_record(&self, message: String) -> ExitRecord {
        let now = clock::now();
        ExitRecord {
            v: 1,
            id: self.id(),
            code: START_ERROR_CODE,
            signal: None,
            reason: ExitReason::StartError,
            started: now.clone(),
            finished: now,
            message: Some(message),
        }
    }

    fn write_exit(&self, record: &ExitRecord) {
        if let Err(e) = record.write(&self.dir.exit(self.attempt)) {
            self.warn(&format!("write its exit record: {e}"));
        }
    }

    fn note_backoff(&self, delay: Duration) {
        let message = format!("starts again in {} s", delay.as_secs());
        let intent = Intent::Wait { reason: "CrashLoopBackOff".to_owned(), message };
        if let Err(e) =
            record::write(&self.dir.record(), &ContainerRecord::new(self.attempt, intent, &self.boot_id))
        {
            self.warn(&format!("write its record: {e}"));
        }
        self.tell(What::BackingOff { delay });
    }

    /// Of past attempts only the last one's log and end are kept: nothing may grow with restarts.
    fn forget(&self, attempt: u32) {
        let mut old = vec![self.dir.scratch(attempt)];
        if let Some(before) = attempt.checked_sub(1) {
            old.extend([self.dir.log(before), self.dir.exit(before)]);
        }
        for path in old {
            if let Err(e) = os::file::remove_tree(&path) {
                self.warn(&format!("remove {}: {e}", path.display()));
            }
        }
    }

    fn id(&self) -> String {
        ContainerRecord::id(&self.asked.container.name, self.attempt)
    }

    fn tell(&self, what: What) {
        self.pod.tell(Some(&self.asked.container.name), what);
    }

    fn warn(&self, text: &str) {
        self.tell(What::Warning(text.to_owned()));
    }
}
