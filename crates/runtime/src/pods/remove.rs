//! Taking containers and pods off the host: what runs is killed, what was done is undone, then the directory goes.
//!
//! Safe to repeat, and safe to begin again after a crash: what is gone already is no error.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Happened, Pod, Runtime, lock};
use crate::effects::UndoError;
use crate::error::{RuntimeError, chain};
use crate::fail;
use crate::ids::{ContainerId, PodId};
use crate::layout::ContainerDir;
use crate::pins::{self, Owner, image_owner};

// === impl Runtime ===

impl Runtime {
    /// Removes a container with everything of it, killing it if it runs.
    pub fn remove(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let (pod, container) = match self.inner.container(id) {
            Err(RuntimeError::NoContainer(_)) => return Ok(()),
            other => other?,
        };
        self.stop(id, Duration::ZERO)?;
        let _gate = lock(&container.gate);
        if container.life().gone {
            return Ok(());
        }
        self.inner.node.made.undo(&container.dir.journal())?;
        let gone = container.dir.gone();
        out_of_sight(container.dir.path(), &gone)?;
        fail::point("container-renamed");
        take_away(&gone)?;
        fail::point("container-removed");
        container.life().gone = true;
        container.changed.notify_all();
        lock(&pod.containers).remove(id);
        self.inner.usage.forget(id);
        self.release_image(id)?;
        self.tell(&pod, Some(&container), Happened::Removed);
        Ok(())
    }

    /// Removes a pod with everything of it, containers included.
    pub fn remove_pod(&self, id: &PodId) -> Result<(), RuntimeError> {
        let pod = match self.inner.pod(id) {
            Err(RuntimeError::NoPod(_)) => return Ok(()),
            other => other?,
        };
        let mut failures: Vec<String> = self.stop_pod(id).err().iter().map(|e| chain(e)).collect();
        for container in pod.all_containers() {
            failures.extend(self.remove(&container.id).err().iter().map(|e| chain(e)));
        }
        if !failures.is_empty() {
            return Err(RuntimeError::Several(failures));
        }
        // Of two who remove it, the second finds it gone.
        let _alone = lock(&pod.holder);
        if !lock(&self.inner.pods).contains_key(id) {
            return Ok(());
        }
        self.remove_directory(&pod)?;
        lock(&self.inner.pods).remove(id);
        self.tell(&pod, None, Happened::Removed);
        Ok(())
    }

    /// The same for a person: the pod must be there, and no image is kept for it any longer.
    pub fn discard_pod(&self, id: &PodId) -> Result<(), RuntimeError> {
        let owner = Owner::of_config(&self.pod_status(id)?.config);
        self.remove_pod(id)?;
        let released = pins::release(&self.inner.node, &owner);
        released.map_err(|e| RuntimeError::Several(vec![format!("release its images: {}", chain(&e))]))
    }

    /// Nobody but a container that is here keeps the image that was pinned for it.
    pub fn release_image(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        if self.inner.container(id).is_ok() {
            return Ok(());
        }
        Ok(self.inner.node.images.content().unpin(&image_owner(id))?)
    }

    fn remove_directory(&self, pod: &Pod) -> Result<(), UndoError> {
        let made = &self.inner.node.made;
        made.undo(&pod.dir.journal())?;
        fail::point("holder-gone");
        // Of a container whose record cannot be read the journal can: what was done for it goes too.
        for entry in std::fs::read_dir(pod.dir.containers()).into_iter().flatten().flatten() {
            made.undo(&ContainerDir::at(entry.path()).journal())?;
        }
        out_of_sight(pod.dir.path(), &pod.dir.gone())?;
        fail::point("pod-renamed");
        take_away(&pod.dir.gone())?;
        fail::point("pod-removed");
        Ok(())
    }
}

/// In one step that either happened or did not.
pub(crate) fn out_of_sight(path: &Path, gone: &Path) -> Result<(), UndoError> {
    match os::file::rename(path, gone) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(|source| failed(path, source)),
    }
}

pub(crate) fn take_away(gone: &Path) -> Result<(), UndoError> {
    os::file::remove_tree(gone).map_err(|source| failed(gone, source))
}

fn failed(path: &Path, source: io::Error) -> UndoError {
    UndoError::Remove { path: PathBuf::from(path), source }
}
