//! Taking a pod off the host: its journal backwards, then its directory.
//!
//! Safe to repeat, and safe to begin again after a crash: what is gone already is no error.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use holder::client::Client;

use super::stop_all;
use crate::journal::{Effect, Journal, JournalError};
use crate::layout::PodDir;
use crate::node::Node;
use crate::pins::Owner;

/// Everything that could not be taken back. Nothing is given up because something before it failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("not everything could be undone: {}", .0.join("; "))]
    Undo(Vec<String>),
    #[error("remove the pod's directory {path}: {source}")]
    Directory { path: PathBuf, source: io::Error },
    #[error("release the pod's images")]
    Images(#[from] images::DepotError),
}

/// How long a holder may take to end its containers when they are killed, and then itself.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Undoes what the journal of this pod lists, last first.
pub fn undo(dir: &PodDir) -> Result<(), RemoveError> {
    let mut failures = Vec::new();
    for effect in Journal::read(&dir.journal())?.into_iter().rev() {
        if let Err(e) = undo_one(&effect) {
            failures.push(format!("{effect:?}: {e}"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(RemoveError::Undo(failures)) }
}

/// Removes the pod's directory: out of sight in one step, then piece by piece.
pub fn remove_dir(dir: &PodDir) -> Result<(), RemoveError> {
    let gone = dir.gone();
    let failed = |source| RemoveError::Directory { path: gone.clone(), source };
    if !PodDir::is_gone(dir.path()) {
        match os::file::rename(dir.path(), &gone) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other.map_err(failed)?,
        }
    }
    os::file::remove_tree(&gone).map_err(failed)
}

/// The pod's images are its own no longer: after everything that ran of it is gone.
pub(crate) fn release(node: &Node, owner: &Owner) -> Result<(), RemoveError> {
    Ok(node.images.content().unpin(&owner.to_string())?)
}

fn undo_one(effect: &Effect) -> io::Result<()> {
    match effect {
        Effect::Job(job) => os::job::sweep(job).map(drop),
        Effect::Holder { endpoint } => {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let mut client = match Client::connect(endpoint) {
                    Err(e) if e.is_absent() => break,
                    Err(e) if Instant::now() > deadline => return Err(io::Error::other(chain(&e))),
                    Err(_) => {
                        std::thread::sleep(LOOK_AGAIN);
                        continue;
                    }
                    Ok(client) => client,
                };
                if Instant::now() > deadline {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the holder does not end"));
                }
                if stop_all(&mut client, Duration::ZERO).is_ok() {
                    wait_until_ended(&mut client, PATIENCE);
                }
                // Refused only while something runs: the next round stops that too.
                drop(client.leave());
                drop(client);
                std::thread::sleep(LOOK_AGAIN);
            }
            os::channel::remove_leftover(endpoint)
        }
    }
}

/// Waits until the holder runs nothing any more, for a limited time.
pub(super) fn wait_until_ended(client: &mut Client, limit: Duration) {
    let deadline = Instant::now() + limit;
    while let Ok(held) = client.list()
        && held.iter().any(|held| held.exit.is_none())
        && Instant::now() < deadline
    {
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// An error with all its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}
