//! Making a pod's directory ours: a new one, the one we left, or in place of one that has changed.

use std::io;
use std::time::Duration;

use holder::client::Client;
use serde_json::Map;

use super::event::What;
use super::{Life, RunError, remove, stop_all};
use crate::admit::Admitted;
use crate::journal::Journal;
use crate::layout::PodDir;
use crate::node::Node;
use crate::pins::Owner;
use crate::record::{self, ContainerName, PodRecord};

/// How long a pod that is replaced may take to end after its grace period.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether this very pod has been taken up here before.
pub(super) fn is_here(pod: &Admitted, dir: &PodDir) -> bool {
    let record = record::read::<PodRecord>(&dir.record());
    record.is_ok_and(|record| record.is_some_and(|record| record.spec_digest == pod.spec_digest))
}

/// The pod's journal, with its directory in order: what runs in it, if anything, is this very pod.
pub(super) fn settle(life: &Life) -> Result<Journal, RunError> {
    let Life { node, pod, dir, .. } = life;
    let failed = |source| RunError::Record { pod: pod.full_name(), source };
    let before: Option<PodRecord> = record::read(&dir.record()).map_err(failed)?;
    if let Some(before) = &before
        && before.spec_digest != pod.spec_digest
    {
        life.tell(None, What::Replacing);
        replace(node, dir, before).map_err(|source| RunError::Replace { pod: pod.full_name(), source })?;
    }
    if !dir.record().exists() {
        create(pod, dir).map_err(failed)?;
    }
    Journal::open(&dir.journal()).map_err(|source| RunError::Journal { pod: pod.full_name(), source })
}

fn create(pod: &Admitted, dir: &PodDir) -> io::Result<()> {
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
    remove::remove_dir(dir)?;
    remove::release(node, &Owner::of_record(before))
}
