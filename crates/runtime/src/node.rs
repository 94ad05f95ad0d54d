//! This host as a node: its directories, its lock, its holder program, its images.

use std::io;
use std::path::{Path, PathBuf};

use images::{ImageError, Store};
use os::file::Lock;
use os::host::HostFacts;

use crate::holders::{self, HolderError};
use crate::layout::{Layout, PodDir};
use crate::run::remove::{self, RemoveError};

/// An open node. While it lives no other agent can use the same root.
#[derive(Debug)]
pub struct Node {
    pub layout: Layout,
    pub facts: HostFacts,
    pub images: Store,
    pub holder_program: PathBuf,
    _lock: Lock,
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("the root directory {path}")]
    Root { path: PathBuf, source: io::Error },
    #[error("{root} is in use by {}: stop it, or choose another --root", holder_of_lock(*.pid))]
    InUse { root: PathBuf, pid: Option<u32> },
    #[error("this host's facts cannot be read")]
    Facts(#[source] io::Error),
    #[error(transparent)]
    Images(#[from] ImageError),
    #[error(transparent)]
    Holder(#[from] HolderError),
    #[error("clean up after an earlier run")]
    Sweep(#[from] RemoveError),
    #[error("release images of pods that are gone")]
    Pins(#[from] images::DepotError),
}

fn holder_of_lock(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another porthole".to_owned(), |pid| format!("another porthole, process {pid}"))
}

// === impl Node ===

impl Node {
    /// Takes the root into use, with the program that will hold its pods, and sweeps what a crash left half done.
    pub fn open(root: &Path, holder_program: &[u8]) -> Result<Node, NodeError> {
        let failed = |source| NodeError::Root { path: root.to_owned(), source };
        // Job and pipe names derive from the root: it must be the same one from every working directory.
        let root = std::path::absolute(root).map_err(failed)?;
        let layout = Layout::new(&root);
        [root.clone(), layout.pods(), layout.run()]
            .iter()
            .try_for_each(|dir| os::file::make_private_dir(dir))
            .map_err(failed)?;
        let Some(lock) = Lock::try_acquire(&layout.lock()).map_err(failed)? else {
            return Err(NodeError::InUse { pid: Lock::owner(&layout.lock()), root });
        };
        let node = Node {
            facts: os::host::facts().map_err(NodeError::Facts)?,
            images: Store::open(&layout.images())?,
            holder_program: holders::lay_down(&layout.bin(), holder_program)?,
            layout,
            _lock: lock,
        };
        node.sweep()?;
        Ok(node)
    }

    /// A directory without its record was never finished, one that is going was never gone: both go now.
    fn sweep(&self) -> Result<(), NodeError> {
        let pods = self.layout.pods();
        let failed = |source| NodeError::Root { path: pods.clone(), source };
        for entry in std::fs::read_dir(&pods).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let dir = PodDir::at(path.clone());
            if PodDir::is_gone(&path) || !dir.record().exists() {
                remove::undo(&dir)?;
                remove::remove_dir(&dir)?;
            }
        }
        Ok(self.release_images_of_nobody()?)
    }
}
