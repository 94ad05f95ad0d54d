//! What is there now: read from disk and asked of the holders.
//!
//! Looking needs no agent and no lock, so `ps` and `logs` answer while an agent runs, after it crashed, and
//! when there never was one.

use std::io;

use holder::exit::{ExitReason, ExitRecord};
use holder::protocol::Held;
use serde::Serialize;
use uuid::Uuid;

use crate::fate::{self, Fate, Traces};
use crate::layout::{ContainerDir, Layout, PodDir};
use crate::record::{self, ContainerName, ContainerRecord, Intent, Kind, PodRecord};
use crate::run::remove::chain;

/// One pod, as `ps -o json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodView {
    pub namespace: String,
    pub name: String,
    pub uid: Uuid,
    pub file: std::path::PathBuf,
    /// The holder's process, if it is there.
    pub holder: Option<u32>,
    /// Why less is known of it than should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub containers: Vec<ContainerView>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerView {
    pub name: String,
    pub kind: Kind,
    pub state: State,
    pub restarts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum State {
    /// Not started yet.
    Waiting,
    Running,
    /// Asked to end, and has not yet.
    Stopping,
    Exited,
    /// Its holder does not answer, or its record cannot be read.
    Unknown,
}

/// Every pod under this root, by name.
pub fn pods(layout: &Layout, boot_id: &str) -> io::Result<Vec<PodView>> {
    let mut pods = Vec::new();
    let entries = match std::fs::read_dir(layout.pods()) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(pods),
        other => other?,
    };
    for entry in entries {
        let dir = PodDir::at(entry?.path());
        if PodDir::is_gone(dir.path()) {
            continue;
        }
        match record::read::<PodRecord>(&dir.record()) {
            Ok(Some(record)) => pods.push(pod(layout, &dir, record, boot_id)),
            // Not finished being made, or removed since we listed.
            Ok(None) => {}
            Err(e) => pods.push(PodView::damaged(&dir, &e)),
        }
    }
    pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(pods)
}

fn pod(layout: &Layout, dir: &PodDir, record: PodRecord, boot_id: &str) -> PodView {
    let asked = fate::held(&layout.holder_endpoint(record.uid));
    let (holder, held, problem) = match asked {
        Ok((pid, held)) => (pid, Some(held), None),
        Err(e) => (None, None, Some(chain(&e))),
    };
    let look = |name: &ContainerName| {
        let mut view = ContainerView::waiting(name, 0);
        let dir = dir.container(&name.name);
        if let Err(e) = look(&mut view, name, &dir, held.as_deref(), boot_id) {
            view.unknown(&e.to_string());
        }
        let id = ContainerRecord::id(&name.name, view.restarts);
        let died = view.reason.as_deref() == Some("HolderDied");
        if died && os::job::holds_processes(&layout.job(record.uid, &id)).unwrap_or(false) {
            view.message =
                Some("its holder ended first; what it started runs on until the next `up`".to_owned());
        }
        view
    };
    PodView {
        containers: record.containers.iter().map(look).collect(),
        namespace: record.namespace,
        name: record.name,
        uid: record.uid,
        file: record.file,
        holder,
        problem,
    }
}

/// Fills in what is known of one container.
fn look(
    view: &mut ContainerView,
    name: &ContainerName,
    dir: &ContainerDir,
    held: Option<&[Held]>,
    boot_id: &str,
) -> io::Result<()> {
    let Some(record) = record::read::<ContainerRecord>(&dir.record())? else { return Ok(()) };
    view.restarts = record.attempt;
    let id = ContainerRecord::id(&name.name, record.attempt);
    let (exit, log) = (dir.exit(record.attempt), dir.log(record.attempt));
    let traces = Traces { id: &id, exit: &exit, log: &log, boots: [&record.boot_id, boot_id] };
    match traces.fate(held.unwrap_or_default().to_vec())? {
        Fate::Ended(end) if held.is_none() && end.reason == ExitReason::HolderDied => {
            view.unknown("its holder does not answer");
        }
        Fate::Ended(end) => view.exited(&end),
        Fate::Running(held) => view.held(&held),
        Fate::NotStarted => {}
    }
    if let Intent::Wait { reason, message } = record.state {
        view.reason = Some(reason);
        view.message.get_or_insert(message);
    }
    Ok(())
}

// === impl PodView ===

impl PodView {
    /// A pod whose record cannot be read is shown by its directory's name rather than hidden.
    fn damaged(dir: &PodDir, error: &io::Error) -> PodView {
        let name = dir.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        PodView {
            namespace: "?".to_owned(),
            uid: name.parse().unwrap_or_default(),
            name,
            file: dir.record(),
            holder: None,
            problem: Some(error.to_string()),
            containers: Vec::new(),
        }
    }
}

// === impl ContainerView ===

impl ContainerView {
    fn waiting(name: &ContainerName, restarts: u32) -> ContainerView {
        ContainerView {
            name: name.name.clone(),
            kind: name.kind,
            state: State::Waiting,
            restarts,
            pid: None,
            exit_code: None,
            reason: None,
            message: None,
            started: None,
            finished: None,
        }
    }

    fn held(&mut self, held: &Held) {
        if let Some(exit) = &held.exit {
            return self.exited(exit);
        }
        self.state = if held.stopping { State::Stopping } else { State::Running };
        self.pid = Some(held.pid);
        self.started = Some(held.started.clone());
    }

    fn exited(&mut self, exit: &ExitRecord) {
        self.state = State::Exited;
        self.exit_code = Some(exit.code);
        self.reason = Some(exit.reason.to_string());
        self.message.clone_from(&exit.message);
        self.started = Some(exit.started.clone());
        self.finished = Some(exit.finished.clone());
    }

    fn unknown(&mut self, why: &str) {
        self.state = State::Unknown;
        self.message = Some(why.to_owned());
    }
}

#[cfg(test)]
mod tests;
