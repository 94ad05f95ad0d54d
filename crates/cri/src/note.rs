//! What is kept with a pod or a container because callers want to hear it again as they said it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::{ImageSpec, LinuxContainerResources, Mount, NamespaceOption, WindowsContainerResources};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodNote {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<NamespaceOption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<LinuxContainerResources>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<LinuxContainerResources>,
    /// It is a HostProcess pod because of the alpha annotation or its handler's name, and the policy for those.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_annotation: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerNote {
    pub image: ImageSpec,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linux: Option<LinuxContainerResources>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowsContainerResources>,
    #[serde(skip_serializing_if = "is_zero")]
    pub stop_signal: i32,
}

fn is_zero(signal: &i32) -> bool {
    *signal == 0
}

/// One that another version wrote, or that somebody else asked for, has nothing to tell.
fn read<T: DeserializeOwned + Default>(value: Option<&Value>) -> T {
    value.and_then(|value| T::deserialize(value).ok()).unwrap_or_default()
}

// === impl PodNote ===

impl PodNote {
    pub fn read(value: Option<&Value>) -> PodNote {
        read(value)
    }

    pub fn into_value(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

// === impl ContainerNote ===

impl ContainerNote {
    pub fn read(value: Option<&Value>) -> ContainerNote {
        read(value)
    }

    pub fn into_value(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_told_again_and_nothing_is_kept_of_nothing() {
        assert_eq!(PodNote::default().into_value(), serde_json::json!({}));
        let mounts = vec![Mount { container_path: "c:/dev/termination-log".into(), ..Mount::default() }];
        let note = ContainerNote { mounts, stop_signal: 23, ..ContainerNote::default() };
        assert_eq!(ContainerNote::read(Some(&note.clone().into_value())), note);
        assert_eq!(ContainerNote::read(Some(&serde_json::json!("old"))), ContainerNote::default());
        assert_eq!(PodNote::read(None), PodNote::default());
    }
}
