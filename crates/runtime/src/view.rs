//! What is there now: read from disk and asked of the holders.
//!
//! Looking needs no agent and no lock, so `ps` and `logs` answer while an agent runs, after it crashed, and
//! when there never was one.

mod attempts;

use std::io;

use holder::exit::{ExitReason, ExitRecord};
use holder::protocol::Held;
use os::channel::Endpoint;
use serde::Serialize;

use crate::error::chain;
use crate::fate::{self, Fate, Traces};
use crate::ids::{ContainerId, PodId};
use crate::layout::{ContainerDir, Layout, PodDir};
use crate::record::{self, ContainerName, ContainerRecord, Kind, PodRecord, State as Recorded};
use attempts::Attempt;

/// One pod, as `ps -o json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodView {
    /// None where even its directory's name is not one.
    #[serde(skip)]
    pub id: Option<PodId>,
    pub namespace: String,
    pub name: String,
    pub uid: String,
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
    /// Of the last attempt.
    pub id: ContainerId,
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
    /// Where its log is; none before it has one.
    #[serde(skip)]
    pub log: Option<std::path::PathBuf>,
    /// The log of the attempt before, if that is kept.
    #[serde(skip)]
    pub previous_log: Option<std::path::PathBuf>,
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

/// Where a pod's containers are looked at, and what its holder says of them.
struct Look<'a> {
    layout: &'a Layout,
    pod: &'a PodDir,
    boot_id: &'a str,
    endpoint: Endpoint,
    /// None if it does not answer.
    held: Option<Vec<Held>>,
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
    let endpoint = layout.holder_endpoint(&record.config.id);
    let (holder, held, problem) = match fate::held(&endpoint) {
        Ok((pid, held)) => (pid, Some(held), None),
        Err(e) => (None, None, Some(chain(&e))),
    };
    let origin = record.config.origin.as_ref();
    let asked = Look { layout, pod: dir, boot_id, endpoint, held };
    let look = |last: &Attempt| {
        let mut view = ContainerView::waiting(&record.config.id, &last.name, last.number);
        if let Err(e) = asked.look(&mut view, &last.dir) {
            view.unknown(&e.to_string());
        }
        view
    };
    PodView {
        containers: attempts::last(dir, origin).iter().map(look).collect(),
        file: origin.map_or_else(|| dir.record(), |origin| origin.file.clone()),
        id: Some(record.config.id),
        namespace: record.config.namespace,
        name: record.config.name,
        uid: record.config.uid,
        holder,
        problem,
    }
}

fn previous_log(pod: &PodDir, record: &ContainerRecord) -> Option<std::path::PathBuf> {
    let before = record.config.attempt.checked_sub(1)?;
    let dir = pod.container(&record.config.name, before);
    Some(record::read::<ContainerRecord>(&dir.record()).ok()??.log)
}

// === impl Look ===

impl Look<'_> {
    /// Fills in what is known of one container.
    fn look(&self, view: &mut ContainerView, dir: &ContainerDir) -> io::Result<()> {
        let Some(record) = record::read::<ContainerRecord>(&dir.record())? else { return Ok(()) };
        view.log = Some(record.log.clone());
        view.previous_log = previous_log(self.pod, &record);
        if record.state == Recorded::Created {
            return Ok(());
        }
        let (exit, boots) = (dir.exit(), [record.boot_id.as_str(), self.boot_id]);
        match self.fate(Traces { id: record.id.as_str(), exit: &exit, log: &record.log, boots })? {
            Fate::Ended(end) if self.held.is_none() && end.reason == ExitReason::HolderDied => {
                view.unknown("its holder does not answer");
            }
            Fate::Ended(end) => view.exited(&end),
            Fate::Running(held) => view.held(&held),
            Fate::NotStarted => {}
        }
        if let Some(message) = record.termination_message {
            view.message = Some(message);
        }
        if view.reason.as_deref() == Some("HolderDied")
            && os::job::holds_processes(&self.layout.job(&record.id)).unwrap_or(false)
        {
            view.message =
                Some("its holder ended first; what it started runs on until the next `up`".to_owned());
        }
        if let Some(waiting) = record.waiting {
            view.reason = Some(waiting.reason);
            view.message.get_or_insert(waiting.message);
        }
        Ok(())
    }

    /// A container that was told to start after the holder was asked has a log by now and would pass for one that was
    /// taken along. The holder does one thing after the other: asked again, it knows the container of that log.
    fn fate(&self, traces: Traces<'_>) -> io::Result<Fate> {
        let fate = traces.fate(self.held.clone().unwrap_or_default())?;
        match &fate {
            Fate::Ended(end) if end.reason == ExitReason::HolderDied && self.held.is_some() => {
                fate::held(&self.endpoint).map_or(Ok(fate), |(_, held)| traces.fate(held))
            }
            _ => Ok(fate),
        }
    }
}

// === impl PodView ===

impl PodView {
    /// A pod whose record cannot be read is shown by its directory's name rather than hidden.
    fn damaged(dir: &PodDir, error: &io::Error) -> PodView {
        let name = dir.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        PodView {
            namespace: "?".to_owned(),
            id: PodId::parse(&name).ok(),
            uid: PodId::parse(&name).map(String::from).unwrap_or_default(),
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
    fn waiting(pod: &PodId, name: &ContainerName, restarts: u32) -> ContainerView {
        ContainerView {
            id: ContainerId::of(pod, &name.name, restarts),
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
            log: None,
            previous_log: None,
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
