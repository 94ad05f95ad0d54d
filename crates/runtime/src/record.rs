//! What is written down about a pod and its containers.
//!
//! Environment values are not: they go to the holder over its pipe and nowhere else. What the agent needs
//! to know later is whether the pod is still the one that was started, and that a digest tells.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::PodSpec;
use os::job::JobLimits;
use os::user::Identity;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::config::{ContainerConfig, Mode, MountConfig, PodConfig, Termination};
use crate::ids::{ContainerId, hex};
use crate::prepare::Room;

pub const VERSION: u32 = 1;

/// The content of `pod.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodRecord {
    pub v: u32,
    pub state: PodState,
    pub created: String,
    pub config: PodConfig,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// Containers may be made in it.
    Ready,
    /// Nothing of it runs or will run.
    Stopped,
}

/// What is known of a pod that came from a file: by this a changed file is told from the same one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    pub file: PathBuf,
    pub spec_digest: String,
    pub grace_seconds: u64,
    pub containers: Vec<ContainerName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerName {
    pub name: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Init,
    Regular,
}

/// The content of `container.json`. Replaced at every step, before the step is taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRecord {
    pub v: u32,
    pub id: ContainerId,
    pub state: State,
    pub created: String,
    /// The boot of the machine in which it was told to start, or made.
    pub boot_id: String,
    pub config: Kept,
    pub log: PathBuf,
    pub mode: Mode,
    /// Where it finds its image and its volumes; none for a container that was refused.
    #[serde(default)]
    pub room: Option<Room>,
    /// As whom it runs, where that is no secret.
    #[serde(default)]
    pub identity: Option<Identity>,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Its last words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_message: Option<String>,
    /// Why the next attempt has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// A container's life goes one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    Created,
    /// The holder was, or is about to be, told to start it. Whether it came to pass, the holder and the exit record tell.
    Running,
    Exited,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub reason: String,
    pub message: String,
}

/// Of a container's configuration what may be written down: no value of a variable, no argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kept {
    pub name: String,
    pub attempt: u32,
    /// Tells the same configuration from another one, but for the values of variables.
    pub digest: String,
    pub image_ref: String,
    pub image_id: String,
    pub working_dir: String,
    /// The names of its variables.
    pub variables: Vec<String>,
    pub mounts: Vec<MountConfig>,
    pub user: Option<String>,
    pub limits: JobLimits,
    pub stdin: bool,
    pub stdin_once: bool,
    pub tty: bool,
    pub termination: Option<Termination>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub scratch_bytes: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub readonly_image: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Value>,
}

// === impl Kept ===

impl Kept {
    pub fn of(config: &ContainerConfig) -> Kept {
        let mut kept = Kept {
            name: config.name.clone(),
            attempt: config.attempt,
            digest: String::new(),
            image_ref: config.image_ref.clone(),
            image_id: config.image.id.as_ref().map(ToString::to_string).unwrap_or_default(),
            working_dir: config.working_dir.clone(),
            variables: config.env.iter().map(|(name, _)| name.clone()).collect(),
            mounts: config.mounts.clone(),
            user: config.user.clone(),
            limits: config.limits.clone(),
            stdin: config.stdin,
            stdin_once: config.stdin_once,
            tty: config.tty,
            termination: config.termination.clone(),
            labels: config.labels.clone(),
            annotations: config.annotations.clone(),
            scratch_bytes: config.scratch_bytes,
            readonly_image: config.readonly_image,
            note: config.note.clone(),
        };
        let whole = serde_json::json!([kept, config.command, config.args, config.log_path]);
        kept.digest = hex(&Sha256::digest(whole.to_string()));
        kept
    }
}

/// The digest by which a changed pod is told from the same one.
pub fn digest(spec: &PodSpec) -> serde_json::Result<String> {
    Ok(hex(&Sha256::digest(serde_json::to_vec(spec)?)))
}

pub fn write(path: &Path, record: &impl Serialize) -> io::Result<()> {
    os::file::write_durable(path, &serde_json::to_vec_pretty(record)?)
}

/// `None` if there is no such file.
pub fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display()))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_newer_version_are_kept() {
        let id = "0".repeat(64);
        let text = format!(
            r#"{{"v":1,"id":"{id}","state":"running","created":"t","bootId":"b","colour":"red","log":"/l","mode":"bind","config":{{"name":"main","attempt":3}}}}"#
        );
        let record: ContainerRecord = serde_json::from_str(&text).unwrap();
        assert_eq!((record.config.attempt, record.state), (3, State::Running));
        assert_eq!(serde_json::to_value(&record).unwrap()["colour"], "red");
    }

    #[test]
    fn a_changed_spec_has_another_digest() {
        let spec = |image: &str| -> PodSpec {
            serde_json::from_value(serde_json::json!({"containers": [{"name": "a", "image": image}]}))
                .unwrap()
        };
        assert_eq!(digest(&spec("x")).unwrap(), digest(&spec("x")).unwrap());
        assert_ne!(digest(&spec("x")).unwrap(), digest(&spec("y")).unwrap());
    }

    #[test]
    fn a_damaged_record_names_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("container.json");
        assert_eq!(read::<ContainerRecord>(&path).unwrap(), None);
        std::fs::write(&path, "{").unwrap();
        assert!(read::<ContainerRecord>(&path).unwrap_err().to_string().contains("container.json"));
    }
}
