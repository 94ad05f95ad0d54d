//! Where everything is under the root directory.
//!
//! Whatever could collide between two nodes on one machine derives from the root: job names and pipe names
//! carry a digest of it.

use std::path::{Path, PathBuf};

use os::channel::Endpoint;
use os::job::JobName;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::ids::{ContainerId, PodId, hex};

#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

/// The directory of one pod.
#[derive(Debug, Clone)]
pub struct PodDir {
    path: PathBuf,
}

/// The directory of one attempt to run a container.
#[derive(Debug, Clone)]
pub struct ContainerDir {
    path: PathBuf,
}

/// A directory that is being removed; whoever finds one goes on removing.
const GONE: &str = "gone";
/// Of the names that Kubernetes gives containers.
const LONGEST_LABEL: usize = 63;

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

    pub fn pod(&self, id: &PodId) -> PodDir {
        PodDir { path: self.pods().join(id.as_str()) }
    }

    /// Where containers see their images: each its own at this very path, or each at one below it.
    ///
    /// Windows has the path that manifests know, `C:\\hpc`; elsewhere it is the node's own.
    pub fn hpc(&self) -> PathBuf {
        if os::path::WINDOWS { PathBuf::from("C:\\hpc") } else { self.root.join("hpc") }
    }

    /// Where a container's copy of its image is, on hosts that lay no layers upon each other: open to the accounts that
    /// containers run as, which the root is not.
    pub fn copy(&self, id: &ContainerId) -> PathBuf {
        self.copies().join(id.as_str())
    }

    pub fn copies(&self) -> PathBuf {
        self.hpc().with_file_name("hpc-images")
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

    /// There while an agent looks after the node, and after one that was killed.
    pub fn tenure(&self) -> PathBuf {
        self.run().join("tenure")
    }

    pub fn holder_endpoint(&self, id: &PodId) -> Endpoint {
        // A socket's path may have about a hundred bytes, and a root takes most of them.
        let name = hex(&Sha256::digest(id.as_str())[..16]);
        os::channel::endpoint(&self.run(), &format!("hold-{name}"))
    }

    pub fn job(&self, id: &ContainerId) -> JobName {
        JobName { parent: format!("porthole-{}", self.digest()), id: id.to_string() }
    }

    /// The name of a container's temporary user. It says whose node it is: others on this machine have theirs.
    pub fn temporary_user(&self, id: &ContainerId) -> String {
        plan::account::temporary_user(&format!("{}{id}", self.digest())).to_owned()
    }

    /// Whether a temporary user was made for a container of this node.
    pub fn is_temporary_user(&self, name: &str) -> bool {
        name.starts_with(&self.digest())
    }

    /// The same pod of the same file under the same root is the same pod: a second `up` finds it again.
    pub fn uid(&self, file: &Path, namespace: &str, name: &str) -> Uuid {
        let node = Uuid::new_v5(&Uuid::NAMESPACE_URL, self.root.as_os_str().as_encoded_bytes());
        let file = Uuid::new_v5(&node, file.as_os_str().as_encoded_bytes());
        Uuid::new_v5(&file, format!("{namespace}/{name}").as_bytes())
    }

    fn digest(&self) -> String {
        hex(&Sha256::digest(self.root.as_os_str().as_encoded_bytes())[..4])
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

    pub fn containers(&self) -> PathBuf {
        self.path.join("containers")
    }

    pub fn container(&self, name: &str, attempt: u32) -> ContainerDir {
        ContainerDir { path: self.containers().join(format!("{}-{attempt}", PodDir::stem(name))) }
    }

    /// How the directories of a container begin, before the attempt. A name that could not be a directory's on every host
    /// stands there as its digest, which is longer than a label: the name itself is in the container's record alone.
    pub(crate) fn stem(name: &str) -> String {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let label = name.len() <= LONGEST_LABEL && name.bytes().all(plain);
        if label { name.to_owned() } else { hex(&Sha256::digest(name)) }
    }

    /// An empty directory of the pod's own, as a volume.
    pub fn volume(&self, name: &str) -> PathBuf {
        self.path.join("volumes").join(name)
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
    pub fn at(path: PathBuf) -> ContainerDir {
        ContainerDir { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn record(&self) -> PathBuf {
        self.path.join("container.json")
    }

    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub fn exit(&self) -> PathBuf {
        self.path.join("exit.json")
    }

    /// Where the container leaves its last words.
    pub fn termination(&self) -> PathBuf {
        self.path.join("termination")
    }

    /// What the container writes: `upper`, `work` and the `rootfs` they are seen at.
    pub fn scratch(&self) -> PathBuf {
        self.path.join("scratch")
    }

    /// As [`PodDir::gone`].
    pub fn gone(&self) -> PathBuf {
        self.path.with_extension(GONE)
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

    /// Pods that run must be found again by the porthole that comes after.
    #[test]
    fn names_are_those_of_earlier_portholes() {
        let layout = Layout::new(Path::new("/var/lib/porthole"));
        let uid = layout.uid(Path::new("/home/me/pod.yaml"), "default", "web");
        assert_eq!(uid.to_string(), "47521601-5bae-56e3-9c59-3571fdf17dbb");
        assert_eq!(layout.job(&ContainerId::of(&PodId::from(uid), "main", 0)).parent, "porthole-dd80c871");
    }

    #[test]
    fn two_roots_share_no_job_and_no_user() {
        let id = ContainerId::of(&PodId::from(Uuid::nil()), "main", 0);
        let layouts = ["/a", "/b"].map(|root| Layout::new(Path::new(root)));
        let [a, b] = layouts.clone().map(|layout| layout.job(&id));
        assert_ne!(a.parent, b.parent);
        assert_eq!((a.id.as_str(), a.parent.len()), (id.as_str(), "porthole-".len() + 8));
        let [a, b] = &layouts;
        let user = a.temporary_user(&id);
        assert_eq!(user.len(), plan::account::LONGEST_USER);
        assert!(a.is_temporary_user(&user) && !b.is_temporary_user(&user));
    }

    #[test]
    fn a_directory_on_its_way_out_is_known_by_its_name() {
        let dir = Layout::new(Path::new("/r")).pod(&PodId::from(Uuid::nil()));
        assert!(PodDir::is_gone(&dir.gone()) && !PodDir::is_gone(dir.path()));
        let container = dir.container("main", 3);
        assert!(container.path().ends_with("containers/main-3"));
        assert!(PodDir::is_gone(&container.gone()) && !PodDir::is_gone(container.path()));
    }

    #[test]
    fn every_name_has_a_directory_of_its_own() {
        let dir = Layout::new(Path::new("/r")).pod(&PodId::from(Uuid::nil()));
        let names = ["main", "Main", "../main", "main.gone", "C:", "", &"m".repeat(63), &"m".repeat(64)];
        let mut paths: Vec<_> = names.iter().map(|name| dir.container(name, 0).path().to_owned()).collect();
        assert!(paths.iter().all(|path| path.parent() == Some(&dir.containers()) && !PodDir::is_gone(path)));
        assert!(paths.iter().all(|path| !path.to_string_lossy().contains(char::is_uppercase)));
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), names.len());
    }
}
