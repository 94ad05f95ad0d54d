//! Where everything is under the root directory.
//!
//! Whatever could collide between two nodes on one machine derives from the root: job names and pipe names
//! carry a digest of it.

use std::path::{Path, PathBuf};

use os::channel::Endpoint;
use os::job::JobName;
use sha2::{Digest, Sha256};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

/// The directory of one pod.
#[derive(Debug, Clone)]
pub struct PodDir {
    path: PathBuf,
}

/// The directory of one container, with files per attempt to run it.
#[derive(Debug, Clone)]
pub struct ContainerDir {
    path: PathBuf,
}

/// A pod directory that is being removed; whoever finds one goes on removing.
const GONE: &str = "gone";

// === impl Layout ===

impl Layout {
    pub fn new(root: &Path) -> Layout {
        Layout { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub fn pods(&self) -> PathBuf {
        self.root.join("pods")
    }

    pub fn pod(&self, uid: Uuid) -> PodDir {
        PodDir { path: self.pods().join(uid.to_string()) }
    }

    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    pub fn holder_endpoint(&self, uid: Uuid) -> Endpoint {
        os::channel::endpoint(&self.run(), &format!("hold-{}", uid.simple()))
    }

    pub fn job(&self, uid: Uuid, container_id: &str) -> JobName {
        JobName { parent: format!("porthole-{}", self.digest()), id: format!("{uid}-{container_id}") }
    }

    /// The same pod of the same file under the same root is the same pod: a second `up` finds it again.
    pub fn uid(&self, file: &Path, namespace: &str, name: &str) -> Uuid {
        let node = Uuid::new_v5(&Uuid::NAMESPACE_URL, self.root.as_os_str().as_encoded_bytes());
        let file = Uuid::new_v5(&node, file.as_os_str().as_encoded_bytes());
        Uuid::new_v5(&file, format!("{namespace}/{name}").as_bytes())
    }

    fn digest(&self) -> String {
        let hash = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        hash[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

// === impl PodDir ===

impl PodDir {
    pub fn at(path: PathBuf) -> PodDir {
        PodDir { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn record(&self) -> PathBuf {
        self.path.join("pod.json")
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub fn holder_log(&self) -> PathBuf {
        self.path.join("holder.log")
    }

    pub fn container(&self, name: &str) -> ContainerDir {
        ContainerDir { path: self.path.join("containers").join(name) }
    }

    /// Where the directory goes to be removed, in one step that either happened or did not.
    pub fn gone(&self) -> PathBuf {
        self.path.with_extension(GONE)
    }

    pub fn is_gone(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == GONE)
    }
}

// === impl ContainerDir ===

impl ContainerDir {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn record(&self) -> PathBuf {
        self.path.join("container.json")
    }

    pub fn log(&self, attempt: u32) -> PathBuf {
        self.path.join(format!("{attempt}.log"))
    }

    pub fn exit(&self, attempt: u32) -> PathBuf {
        self.path.join(format!("{attempt}.exit.json"))
    }

    /// What the container writes: `upper`, `work` and the `rootfs` they are seen at.
    pub fn scratch(&self, attempt: u32) -> PathBuf {
        self.path.join(format!("{attempt}.scratch"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_known_by_root_file_and_name() {
        let layout = Layout::new(Path::new("/r"));
        let uid = layout.uid(Path::new("/f.yaml"), "default", "a");
        assert_eq!(uid, layout.uid(Path::new("/f.yaml"), "default", "a"));
        let others = [
            Layout::new(Path::new("/s")).uid(Path::new("/f.yaml"), "default", "a"),
            layout.uid(Path::new("/g.yaml"), "default", "a"),
            layout.uid(Path::new("/f.yaml"), "other", "a"),
            layout.uid(Path::new("/f.yaml"), "default", "b"),
        ];
        assert!(!others.contains(&uid));
        assert_eq!(uid.get_version_num(), 5);
    }

    #[test]
    fn two_roots_share_no_job() {
        let job = |root: &str| Layout::new(Path::new(root)).job(Uuid::nil(), "main-0");
        assert_ne!(job("/a").parent, job("/b").parent);
        assert_eq!(job("/a").id, "00000000-0000-0000-0000-000000000000-main-0");
        assert_eq!(job("/a").parent.len(), "porthole-".len() + 8);
    }

    #[test]
    fn a_directory_on_its_way_out_is_known_by_its_name() {
        let dir = Layout::new(Path::new("/r")).pod(Uuid::nil());
        assert!(PodDir::is_gone(&dir.gone()) && !PodDir::is_gone(dir.path()));
    }
}
