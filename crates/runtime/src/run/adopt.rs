//! Making a pod's directory ours: a new one, the one we left, or in place of one that has changed.

use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;

use holder::client::Client;
use holder::exit::{ExitReason, ExitRecord, KILLED_CODE};
use holder::protocol::Held;
use serde_json::Map;

use super::event::{Event, What};
use super::{RunError, remove, stop_all};
use crate::admit::Admitted;
use crate::journal::Journal;
use crate::layout::PodDir;
use crate::node::Node;
use crate::record::{self, ContainerName, PodRecord};

/// How long a pod that is replaced may take to end after its grace period.
const PATIENCE: Duration = Duration::from_secs(10);

/// The pod's journal, with its directory in order: what runs in it, if anything, is this very pod.
pub(super) fn settle(
    node: &Node,
    pod: &Admitted,
    dir: &PodDir,
    events: &Sender<Event>,
) -> Result<Journal, RunError> {
    let failed = |source| RunError::Record { pod: pod.full_name(), source };
    let before: Option<PodRecord> = record::read(&dir.record()).map_err(failed)?;
    if let Some(before) = &before
        && before.spec_digest != pod.spec_digest
    {
        drop(events.send(Event { pod: pod.full_name(), container: None, what: What::Replacing }));
        replace(node, dir, before).map_err(|source| RunError::Replace { pod: pod.full_name(), source })?;
    }
    if !dir.record().exists() {
        create(node, pod, dir).map_err(failed)?;
    }
    Journal::open(&dir.journal()).map_err(|source| RunError::Journal { pod: pod.full_name(), source })
}

fn create(node: &Node, pod: &Admitted, dir: &PodDir) -> io::Result<()> {
    os::file::make_private_dir(dir.path())?;
    for asked in &pod.containers {
        std::fs::create_dir_all(dir.container(&asked.container.name).path())?;
    }
    let name =
        |asked: &crate::admit::Asked| ContainerName { name: asked.container.name.clone(), kind: asked.kind };
    // The record comes last: a directory without it is swept.
    record::write(
        &dir.record(),
        &PodRecord {
            v: record::VERSION,
            uid: pod.uid,
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            file: pod.file.clone(),
            spec_digest: pod.spec_digest.clone(),
            grace_seconds: pod.grace.as_secs(),
            boot_id: node.facts.boot_id.clone(),
            containers: pod.containers.iter().map(name).collect(),
            unknown: Map::new(),
        },
    )
}

fn replace(node: &Node, dir: &PodDir, before: &PodRecord) -> Result<(), remove::RemoveError> {
    let grace = Duration::from_secs(before.grace_seconds);
    if let Ok(mut client) = Client::connect(&node.layout.holder_endpoint(before.uid))
        && stop_all(&mut client, grace).is_ok()
    {
        remove::wait_until_ended(&mut client, grace + PATIENCE);
    }
    remove::undo(dir)?;
    remove::remove_dir(dir)
}

/// What became of a container that was told to start: still running, or how it ended.
pub(super) enum Fate {
    Running(Held),
    Ended(ExitRecord),
}

/// Asks the exit record first and the holder second: a holder writes the record before it goes.
pub(super) fn fate(
    exit_file: &std::path::Path,
    id: &str,
    client: Option<&mut Client>,
    why_gone: &str,
) -> io::Result<Fate> {
    if let Some(record) = ExitRecord::read(exit_file)? {
        return Ok(Fate::Ended(record));
    }
    let held = client.and_then(|client| client.list().ok()).unwrap_or_default();
    if let Some(held) = held.into_iter().find(|held| held.id == id) {
        return Ok(match held.exit {
            Some(record) => Fate::Ended(record),
            None => Fate::Running(held),
        });
    }
    // The holder may have ended between our two looks, having written the record.
    if let Some(record) = ExitRecord::read(exit_file)? {
        return Ok(Fate::Ended(record));
    }
    let now = holder::clock::now();
    Ok(Fate::Ended(ExitRecord {
        v: 1,
        id: id.to_owned(),
        code: KILLED_CODE,
        signal: None,
        reason: ExitReason::HolderDied,
        started: now.clone(),
        finished: now,
        message: Some(why_gone.to_owned()),
    }))
}

/// Why a container without a holder and without an exit record is gone.
pub(crate) fn why_gone(record: &PodRecord, boot_id: &str) -> &'static str {
    if record.boot_id == boot_id {
        "its holder ended first and took the container along"
    } else {
        "the machine was restarted"
    }
}
