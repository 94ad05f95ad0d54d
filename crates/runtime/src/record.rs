//! What is written down about a pod and its containers.
//!
//! Environment values are not: they go to the holder over its pipe and nowhere else. What the agent needs
//! to know later is whether the pod is still the one that was started, and that a digest tells.

use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::PodSpec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use uuid::Uuid;

pub const VERSION: u32 = 1;

/// The content of `pod.json`. Written once, when the pod is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodRecord {
    pub v: u32,
    pub uid: Uuid,
    pub namespace: String,
    pub name: String,
    /// The file that asked for it.
    pub file: PathBuf,
    pub spec_digest: String,
    pub grace_seconds: u64,
    pub containers: Vec<ContainerName>,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
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
    pub attempt: u32,
    pub state: Intent,
    /// The boot of the machine in which this was meant.
    pub boot_id: String,
    #[serde(flatten)]
    pub unknown: Map<String, Value>,
}

/// What the agent last meant to do. Whether it came to pass, the holder and the exit record tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Intent {
    /// The holder was, or is about to be, told to start this attempt.
    Start,
    /// This attempt has ended; another may follow.
    Wait { reason: String, message: String },
}

// === impl ContainerRecord ===

impl ContainerRecord {
    pub fn new(attempt: u32, state: Intent, boot_id: &str) -> ContainerRecord {
        ContainerRecord { v: VERSION, attempt, state, boot_id: boot_id.to_owned(), unknown: Map::new() }
    }

    /// The id by which the holder knows this attempt.
    pub fn id(name: &str, attempt: u32) -> String {
        format!("{name}-{attempt}")
    }
}

/// The digest by which a changed pod is told from the same one.
pub fn digest(spec: &PodSpec) -> serde_json::Result<String> {
    let hash = Sha256::digest(serde_json::to_vec(spec)?);
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
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
        let text = r#"{"v":1,"attempt":3,"state":"start","bootId":"b","colour":"red"}"#;
        let record: ContainerRecord = serde_json::from_str(text).unwrap();
        assert_eq!((record.attempt, &record.state), (3, &Intent::Start));
        let again = serde_json::to_value(&record).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
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
