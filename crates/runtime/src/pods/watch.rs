//! Seeing a container to its end, and cleaning up after it.
//!
//! One thread per running container waits at the holder; it has no hold on the runtime while it waits, so that a
//! runtime that is dropped frees its node at once. The end is published first and cleaned up after: slow removals keep
//! nobody waiting.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use holder::client::Client;
use holder::exit::{ExitReason, ExitRecord};

use super::{Container, Happened, Inner, Pod, Runtime, lock, start, termination};
use crate::error::{RuntimeError, chain};
use crate::fail;
use crate::failure::FailureMode;
use crate::fate::{self, Fate, Traces};
use crate::ids::ContainerId;
use crate::record::State;

/// How long to leave a holder alone that did not answer a question it should have.
const ASK_AGAIN: Duration = Duration::from_millis(100);
/// These threads wait, and in between write a few small files.
const STACK: usize = 256 * 1024;

// === impl Runtime ===

impl Runtime {
    /// Blocks until the container has ended.
    pub fn wait(&self, id: &ContainerId) -> Result<ExitRecord, RuntimeError> {
        let (_, container) = self.inner.container(id)?;
        if container.state() == State::Created {
            container.expect("wait for", State::Running)?;
        }
        container.wait_for_end(None).ok_or_else(|| RuntimeError::NoContainer(id.clone()))
    }

    pub(super) fn watch(&self, pod: &Arc<Pod>, container: &Arc<Container>) {
        let boot_id = self.inner.node.facts.boot_id.clone();
        let watched = (Arc::downgrade(&self.inner), pod.clone(), container.clone());
        let started = thread::Builder::new().name("watch".to_owned()).stack_size(STACK).spawn(move || {
            let (inner, pod, container) = watched;
            if let Some(exit) = see_to_the_end(&inner, &pod, &container, &boot_id)
                && let Some(inner) = inner.upgrade()
            {
                Runtime { inner }.ended(&pod, &container, exit);
            }
        });
        if let Err(e) = started {
            self.tell(pod, Some(container), Happened::Warning(format!("nobody can watch it: {e}")));
        }
    }

    fn ended(&self, pod: &Pod, container: &Container, mut exit: ExitRecord) {
        let _gate = lock(&container.gate);
        if container.state() != State::Running {
            return;
        }
        fail::point("exit-seen");
        if exit.reason == ExitReason::HolderDied {
            // What the holder could not end is ended.
            let swept = os::job::sweep(&self.inner.node.layout.job(&container.id));
            self.warn_if(pod, container, "end what its holder left", swept.map(drop));
            self.met(pod, Some(container), FailureMode::HolderLost);
            // The holder took its clock along; what it had said of it stands.
            exit.started = container.life().started.clone().unwrap_or(exit.started);
        }
        self.record_end(container, &exit);
        fail::point("exit-recorded");
        self.tell(pod, Some(container), Happened::Exited(exit));
        self.clean_up(pod, container);
    }

    /// The end as everybody will find it: the exit where no holder wrote it, the record, and those who wait.
    pub(super) fn record_end(&self, container: &Container, exit: &ExitRecord) {
        let own = matches!(exit.reason, ExitReason::StartError | ExitReason::HolderDied);
        // Nothing can be done about a disk that is full; the end is told all the same.
        if own {
            drop(exit.write(&container.dir.exit()));
        }
        let message = termination::message(&container.life().record, &container.dir, exit);
        let mut life = container.life();
        // In one go: whoever sees that it has ended sees how.
        drop(life.rewrite(&container.dir, |record| {
            record.state = State::Exited;
            record.termination_message = message;
        }));
        (life.record.state, life.launching) = (State::Exited, false);
        life.exit = Some(exit.clone());
        life.pid = None;
        life.started = Some(exit.started.clone());
        drop(life);
        container.changed.notify_all();
    }

    /// Takes back what was done to the host for a container that has ended, and what it wrote. What fails stays in
    /// the journal: its removal tries again.
    pub(super) fn clean_up(&self, pod: &Pod, container: &Container) {
        container.life().secret = None;
        for path in [container.dir.scratch(), container.dir.path().join("above")] {
            let removed = os::file::remove_tree(&path);
            self.warn_if(pod, container, &format!("remove {}", path.display()), removed);
        }
        fail::point("scratch-removed");
        let undone = self.inner.node.made.undo(&container.dir.journal());
        self.warn_if(pod, container, "clean up", undone);
    }

    fn warn_if<E: std::error::Error>(
        &self,
        pod: &Pod,
        container: &Container,
        what: &str,
        done: Result<(), E>,
    ) {
        if let Err(e) = done {
            let text = format!("{what}: {}", chain(&e));
            self.tell(pod, Some(container), Happened::Warning(text));
        }
    }
}

/// Waits for the end, whoever brings the news: the holder, or the silence after it. None if the runtime went first.
fn see_to_the_end(
    inner: &Weak<Inner>,
    pod: &Pod,
    container: &Container,
    boot_id: &str,
) -> Option<ExitRecord> {
    let id = container.id.as_str();
    let mut told = false;
    loop {
        container.learn_if_unknown(|| now(pod, container, boot_id));
        let waited = Client::connect(&pod.endpoint).and_then(|mut client| client.wait(id));
        if let Ok(exit) = waited {
            return Some(exit);
        }
        let gone = |why: &str| start::start_error(&container.id, why.to_owned());
        match now(pod, container, boot_id) {
            Ok(Fate::Ended(exit)) => return Some(exit),
            Ok(Fate::NotStarted) => return Some(gone("it is gone without a trace")),
            // The question failed, not the container: ask again, but not in a hurry.
            Ok(Fate::Running(_)) => {}
            Err(Silent::Record(e)) => return Some(gone(&format!("its exit record cannot be read: {e}"))),
            Err(Silent::Holder(why)) if !std::mem::replace(&mut told, true) => {
                let runtime = Runtime { inner: inner.upgrade()? };
                runtime.tell(pod, Some(container), Happened::Warning(why));
            }
            Err(Silent::Holder(_)) => {}
        }
        if inner.strong_count() == 0 {
            return None;
        }
        thread::sleep(ASK_AGAIN);
    }
}

/// Why nobody knows: a holder that is silent is not a holder that is gone.
enum Silent {
    Holder(String),
    Record(std::io::Error),
}

fn now(pod: &Pod, container: &Container, boot_id: &str) -> Result<Fate, Silent> {
    let (_, held) = fate::held(&pod.endpoint).map_err(|e| Silent::Holder(chain(&e)))?;
    let (log, then, ran) = {
        let life = container.life();
        (life.record.log.clone(), life.record.boot_id.clone(), life.started.is_some())
    };
    let exit = container.dir.exit();
    let traces = Traces { id: container.id.as_str(), exit: &exit, log: &log, boots: [&then, boot_id] };
    match traces.fate(held).map_err(Silent::Record)? {
        // Its log may be on its way to another name.
        Fate::NotStarted if ran => Ok(Fate::Ended(traces.taken_along())),
        fate => Ok(fate),
    }
}

// === impl Container ===

impl Container {
    /// As what it runs and since when, where its holder was silent when the runtime was opened.
    fn learn_if_unknown(&self, ask: impl FnOnce() -> Result<Fate, Silent>) {
        let unknown = self.life().pid.is_none();
        if unknown && let Ok(Fate::Running(held)) = ask() {
            let mut life = self.life();
            (life.pid, life.started) = (Some(held.pid), Some(held.started));
        }
    }

    /// The end, once it has come; none if the container is removed or the time is over first.
    pub(super) fn wait_for_end(&self, limit: Option<Duration>) -> Option<ExitRecord> {
        let ended = |life: &mut super::Life| !(life.gone || life.record.state == State::Exited);
        let life = self.life();
        let life = match limit {
            None => self.changed.wait_while(life, ended).unwrap_or_else(std::sync::PoisonError::into_inner),
            Some(limit) => {
                let waited = self.changed.wait_timeout_while(life, limit, ended);
                waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
            }
        };
        life.exit.clone().filter(|_| life.record.state == State::Exited)
    }
}
