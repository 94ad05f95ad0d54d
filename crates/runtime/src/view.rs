//! What is there now: read from disk and asked of the holders.
//!
//! Looking needs no agent and no lock, so `ps` and `logs` answer while an agent runs, after it crashed, and
//! when there never was one.

use std::io;

use holder::client::Client;
use holder::exit::{ExitReason, ExitRecord};
use holder::protocol::Held;
use serde::Serialize;
use uuid::Uuid;

use crate::layout::{ContainerDir, Layout, PodDir};
use crate::record::{self, ContainerName, ContainerRecord, Intent, Kind, PodRecord};
use crate::run::why_gone;

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
        // No record: not finished being made, or removed since we listed.
        if let Some(record) = record::read::<PodRecord>(&dir.record())? {
            pods.push(pod(layout, &dir, record, boot_id)?);
        }
    }
    pods.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(pods)
}

fn pod(layout: &Layout, dir: &PodDir, record: PodRecord, boot_id: &str) -> io::Result<PodView> {
    let mut client = Client::connect(&layout.holder_endpoint(record.uid)).ok();
    let held = client.as_mut().and_then(|client| client.list().ok()).unwrap_or_default();
    let gone = why_gone(&record, boot_id);
    let view = |name: &ContainerName| container(name, &dir.container(&name.name), &held, gone);
    Ok(PodView {
        containers: record.containers.iter().map(view).collect::<io::Result<_>>()?,
        namespace: record.namespace,
        name: record.name,
        uid: record.uid,
        file: record.file,
        holder: client.map(|client| client.pid),
    })
}

fn container(
    name: &ContainerName,
    dir: &ContainerDir,
    held: &[Held],
    gone: &str,
) -> io::Result<ContainerView> {
    let record: Option<ContainerRecord> = record::read(&dir.record())?;
    let mut view = ContainerView::waiting(name, record.as_ref().map_or(0, |record| record.attempt));
    let Some(record) = record else { return Ok(view) };
    let id = ContainerRecord::id(&name.name, record.attempt);
    let exit = ExitRecord::read(&dir.exit(record.attempt))?;
    match (exit, held.iter().find(|held| held.id == id)) {
        (Some(exit), _) => view.exited(&exit),
        (None, Some(held)) => view.held(held),
        (None, None) if record.state == Intent::Start => view.lost(gone),
        (None, None) => {}
    }
    if let Intent::Wait { reason, message } = record.state {
        view.reason = Some(reason);
        view.message.get_or_insert(message);
    }
    Ok(view)
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

    fn lost(&mut self, why: &str) {
        self.state = State::Exited;
        self.reason = Some(ExitReason::HolderDied.to_string());
        self.message = Some(why.to_owned());
    }
}

#[cfg(test)]
mod tests;
