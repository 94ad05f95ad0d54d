//! What is asked of the runtime, in the grain of CRI: pods, their containers, programs run inside them.
//!
//! Texts arrive ready: `$(NAME)` was expanded by who asks. What stays for the runtime is what only it knows: where the
//! image is, whose account it is, what the host has.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use holder::protocol::Rotate;
use images::Image;
use os::job::JobLimits;
use os::terminal::Size;
use os::view::Propagation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::PodId;
use crate::record::Origin;

/// The annotation by which a pod chooses how its containers see the host.
pub const MODE: &str = "porthole.dev/hostprocess-mode";

/// A pod as it is to be run. Nothing runs for the pod itself: no process, no pause image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodConfig {
    pub id: PodId,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub attempt: u32,
    pub host_process: bool,
    pub host_network: bool,
    /// The runtime handler of the pod's RuntimeClass; empty for none.
    pub handler: String,
    pub hostname: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Where container logs go; log paths are relative to it.
    #[serde(default)]
    pub log_directory: Option<PathBuf>,
    /// As the pod chooses; none leaves it to the annotation and the host.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The file that asked for it, where one did.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Words of whoever asked, kept for them and not read here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Value>,
}

/// One container of a pod. Not to be written down: it has secrets in it.
#[derive(Debug, Clone)]
pub struct ContainerConfig {
    pub name: String,
    pub attempt: u32,
    pub image: Image,
    /// As the pod names it.
    pub image_ref: String,
    /// Replaces the image's entrypoint and its arguments.
    pub command: Vec<String>,
    pub args: Vec<String>,
    /// Empty for the image's own.
    pub working_dir: String,
    pub env: Vec<(String, String)>,
    pub mounts: Vec<MountConfig>,
    /// `runAsUserName`; none leaves it to the image.
    pub user: Option<String>,
    /// Of a host with numbers for accounts: its group and further ones, where the account's own are not wanted.
    pub groups: Groups,
    /// What the container itself says, where it says something else than the pod.
    pub host_process: Option<bool>,
    /// A group managed service account's credential specification.
    pub credential_spec: Option<String>,
    pub limits: JobLimits,
    /// Relative to the pod's log directory; none keeps it with the container.
    pub log_path: Option<PathBuf>,
    pub stdin: bool,
    pub stdin_once: bool,
    pub tty: bool,
    pub termination: Option<Termination>,
    pub rotate: Option<Rotate>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// How much the container may write into its image.
    pub scratch_bytes: Option<u64>,
    /// Nothing may be written into the image at all; volumes stay as they say.
    pub readonly_image: bool,
    /// Words of whoever asked, kept for them and not read here.
    pub note: Option<Value>,
}

/// The numbers of groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    pub own: Option<u32>,
    pub further: Vec<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MountConfig {
    pub host_path: String,
    pub container_path: String,
    pub readonly: bool,
    /// Read-only without what is mounted below it, where a host knows the difference.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
    #[serde(default, skip_serializing_if = "Propagation::is_private")]
    pub propagation: Propagation,
}

/// Where a container leaves its last words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Termination {
    /// A single file of its own is mounted there.
    pub path: String,
    pub policy: TerminationPolicy,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TerminationPolicy {
    #[default]
    File,
    /// The end of the log, if the file is empty and the container failed.
    FallbackToLogsOnError,
}

/// How a container sees the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Image and volumes at paths that mean this container's own.
    Bind,
    /// Volumes as links in an image that has a path of its own.
    Symlink,
    /// As with links, in a plain job.
    Host,
}

/// A program to run inside a container that runs.
#[derive(Debug, Clone, Default)]
pub struct ExecRequest {
    pub argv: Vec<String>,
    pub stdin: bool,
    pub terminal: Option<Size>,
    /// It is killed then.
    pub timeout: Option<Duration>,
}

/// What a node's administrator decides.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub run_as: RunAs,
}

/// `hostProcess.runAs`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunAs {
    /// As the pod asks. An account equal to our own needs no logon.
    #[default]
    Logon,
    /// Everything as ourselves, whatever pods ask: for hosts where nobody can log on.
    Inherit,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation {MODE}: wanted bind, symlink or host, found {0:?}")]
pub struct UnknownMode(pub String);

// === impl PodConfig ===

impl PodConfig {
    /// A HostProcess pod of the namespace `default` that asks for nothing else.
    pub fn host_process(id: PodId, name: &str) -> PodConfig {
        PodConfig {
            namespace: "default".to_owned(),
            name: name.to_owned(),
            uid: id.to_string(),
            id,
            attempt: 0,
            host_process: true,
            host_network: true,
            handler: String::new(),
            hostname: String::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            log_directory: None,
            mode: None,
            origin: None,
            note: None,
        }
    }

    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The mode that the pod wants, by field or annotation.
    pub fn wanted_mode(&self) -> Result<Option<Mode>, UnknownMode> {
        match (self.mode, self.annotations.get(MODE)) {
            (Some(mode), _) => Ok(Some(mode)),
            (None, Some(text)) => Mode::parse(text).map(Some),
            (None, None) => Ok(None),
        }
    }
}

// === impl ContainerConfig ===

impl ContainerConfig {
    /// The first attempt of a container that runs what its image says and asks for nothing else.
    pub fn new(name: &str, image: Image) -> ContainerConfig {
        ContainerConfig {
            name: name.to_owned(),
            attempt: 0,
            image,
            image_ref: String::new(),
            command: Vec::new(),
            args: Vec::new(),
            working_dir: String::new(),
            env: Vec::new(),
            mounts: Vec::new(),
            user: None,
            groups: Groups::default(),
            host_process: None,
            credential_spec: None,
            limits: JobLimits::default(),
            log_path: None,
            stdin: false,
            stdin_once: false,
            tty: false,
            termination: None,
            rotate: None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            scratch_bytes: None,
            readonly_image: false,
            note: None,
        }
    }
}

// === impl Mode ===

impl Mode {
    pub fn parse(text: &str) -> Result<Mode, UnknownMode> {
        match text {
            "bind" => Ok(Mode::Bind),
            "symlink" => Ok(Mode::Symlink),
            "host" => Ok(Mode::Host),
            other => Err(UnknownMode(other.to_owned())),
        }
    }
}

impl From<Mode> for plan::mounts::Mode {
    fn from(mode: Mode) -> plan::mounts::Mode {
        match mode {
            Mode::Bind => plan::mounts::Mode::Bind,
            Mode::Symlink => plan::mounts::Mode::Symlink,
            Mode::Host => plan::mounts::Mode::Host,
        }
    }
}
