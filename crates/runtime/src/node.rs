//! This host as a node: its directories, its lock, its holder program, its images.

use std::io;
use std::path::{Path, PathBuf};

use holder::client::{Client, ClientError};
use images::{ImageError, Store};
use os::channel::Endpoint;
use os::file::Lock;
use os::host::HostFacts;

use crate::effects::{Made, UndoError};
use crate::fail;
use crate::failure::Counters;
use crate::holders::{self, HolderError};
use crate::journal::{Effect, Journal};
use crate::layout::{ContainerDir, Layout, PodDir};
use crate::{claim, pods, prepare};

/// An open node. While it lives no other agent can use the same root.
#[derive(Debug)]
pub struct Node {
    pub layout: Layout,
    pub facts: HostFacts,
    pub images: Store,
    pub holder_program: PathBuf,
    /// What could not be swept, for people: nothing that keeps the node from working.
    pub remarks: Vec<String>,
    pub(crate) counters: Counters,
    pub(crate) made: Made,
    _lock: Lock,
}

#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error("the root directory {path}")]
    Root { path: PathBuf, source: io::Error },
    #[error(
        "{root} holds the directory {found}, which is not porthole's: wanted an empty directory, or a new one"
    )]
    Occupied { root: PathBuf, found: String },
    #[error("{root} is in use by {}: stop it, or choose another --root", holder_of_lock(*.pid))]
    InUse { root: PathBuf, pid: Option<u32> },
    #[error("this host's facts cannot be read")]
    Facts(#[source] io::Error),
    #[error(transparent)]
    Images(#[from] ImageError),
    #[error(transparent)]
    Holder(#[from] HolderError),
    #[error("clean up after an earlier run")]
    Sweep(#[from] UndoError),
    #[error("release images of pods that are gone")]
    Pins(#[from] images::DepotError),
}

fn holder_of_lock(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another porthole".to_owned(), |pid| format!("another porthole, process {pid}"))
}

fn is_holders(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hold-"))
}

// === impl Node ===

impl Node {
    /// Takes the root into use, with the program that will hold its pods, and sweeps what a crash left half done.
    pub fn open(root: &Path, holder_program: &[u8]) -> Result<Node, NodeError> {
        let failed = |source| NodeError::Root { path: root.to_owned(), source };
        // Job and pipe names derive from the root: it must be the same one however it was written.
        let root = os::path::canonical(root).map_err(failed)?;
        let layout = Layout::new(&root);
        if let Some(found) = claim::stranger(&layout).map_err(failed)? {
            return Err(NodeError::Occupied { root, found });
        }
        // Accounts that containers run as must get to their images, and to nothing else.
        os::file::make_passable_dir(&root).map_err(failed)?;
        [layout.pods(), layout.run()]
            .iter()
            .try_for_each(|dir| os::file::make_private_dir(dir))
            .map_err(failed)?;
        fail::point("root-made");
        let Some(lock) = Lock::try_acquire(&layout.lock()).map_err(failed)? else {
            return Err(NodeError::InUse { pid: Lock::owner(&layout.lock()), root });
        };
        // In sight of everybody, so that accounts other than ours get to their images and cannot change them.
        let mut open = vec![layout.hpc()];
        open.extend(prepare::needs_copies().then(|| layout.copies()));
        for path in open {
            os::file::make_readable_dir(&path).map_err(|source| NodeError::Root { path, source })?;
        }
        let mut node = Node {
            facts: os::host::facts().map_err(NodeError::Facts)?,
            images: Store::open(&layout.images())?,
            holder_program: holders::lay_down(&layout.bin(), holder_program)?,
            remarks: Vec::new(),
            counters: Counters::default(),
            made: Made::default(),
            layout,
            _lock: lock,
        };
        fail::point("program-laid");
        node.sweep()?;
        // Whoever cannot see or remove users can still run pods that need none.
        match node.sweep_users() {
            Err(e) if e.kind() != io::ErrorKind::Unsupported => {
                node.remarks.push(format!("temporary users of containers that are gone: {e}"));
            }
            _ => {}
        }
        Ok(node)
    }

    /// A directory without its record was never finished, one that is going was never gone: both go now.
    fn sweep(&self) -> Result<(), NodeError> {
        let pods = self.listed(&self.layout.pods())?;
        let mut journals = Vec::new();
        for dir in pods.iter().cloned().map(PodDir::at) {
            journals.push(dir.journal());
            let containers = self.listed(&dir.containers())?;
            journals.extend(containers.into_iter().map(|path| ContainerDir::at(path).journal()));
        }
        // Everything is learned before anything is undone: what one left, another may need. A journal that cannot be
        // read is an error for whoever undoes it, not for the others.
        journals.iter().for_each(|journal| drop(self.made.learn(journal)));
        for path in pods {
            self.sweep_pod(&PodDir::at(path))?;
        }
        self.sweep_sockets()?;
        Ok(self.release_images_of_nobody()?)
    }

    /// A journal notes a holder without a sync, as no process outlives the machine; but where sockets are files, its
    /// socket does.
    fn sweep_sockets(&self) -> Result<(), NodeError> {
        for path in self.listed(&self.layout.run())?.iter().filter(|path| is_holders(path)) {
            let endpoint: Endpoint =
                path.display().to_string().parse().unwrap_or_else(|never| match never {});
            if matches!(Client::connect(&endpoint), Err(ClientError::Absent { .. })) {
                let failed = |source| NodeError::Root { path: path.clone(), source };
                os::channel::remove_leftover(&endpoint).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn sweep_pod(&self, dir: &PodDir) -> Result<(), NodeError> {
        let all = PodDir::is_gone(dir.path()) || !dir.record().exists();
        if all {
            // The holder first: it ends what runs.
            self.made.undo(&dir.journal())?;
        }
        for path in self.listed(&dir.containers())? {
            let container = ContainerDir::at(path.clone());
            if all || PodDir::is_gone(&path) || !container.record().exists() {
                self.made.undo(&container.journal())?;
                self.away(&path, container.gone())?;
            }
        }
        if all { self.away(dir.path(), dir.gone()) } else { Ok(()) }
    }

    fn away(&self, path: &Path, gone: PathBuf) -> Result<(), NodeError> {
        if PodDir::is_gone(path) {
            return Ok(pods::take_away(path)?);
        }
        pods::out_of_sight(path, &gone)?;
        fail::point("sweep-renamed");
        Ok(pods::take_away(&gone)?)
    }

    /// Temporary users that no journal of ours lists: their container is gone, and we went before they did.
    fn sweep_users(&self) -> io::Result<()> {
        for name in os::user::temporary()?.into_iter().filter(|name| self.layout.is_temporary_user(name)) {
            if !self.is_needed(&name)? {
                os::user::remove_temporary(&name)?;
            }
        }
        Ok(())
    }

    fn is_needed(&self, user: &str) -> io::Result<bool> {
        let wanted = Effect::User { name: user.to_owned() };
        for pod in self.listed(&self.layout.pods()).map_err(io::Error::other)? {
            for container in self.listed(&PodDir::at(pod).containers()).map_err(io::Error::other)? {
                let journal = ContainerDir::at(container).journal();
                if Journal::read(&journal).map_err(io::Error::other)?.contains(&wanted) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn listed(&self, dir: &Path) -> Result<Vec<PathBuf>, NodeError> {
        let failed = |source| NodeError::Root { path: dir.to_owned(), source };
        let entries = match std::fs::read_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed)?,
        };
        entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
    }
}
