//! For whom images are kept.
//!
//! A pod's images are pinned before anything of it is written down, and released after everything of it is gone. So a
//! crash leaves a pin too many and never one too few, and those are released at the next start: a pin says by its name
//! whose it is.

use std::collections::BTreeSet;
use std::fmt;

use images::DepotError;

use crate::admit::Admitted;
use crate::config::PodConfig;
use crate::ids::ContainerId;
use crate::layout::{ContainerDir, PodDir};
use crate::node::Node;
use crate::record::{self, ContainerRecord, PodRecord};

/// A pod as the owner of images. A pod that has changed is another owner: its new images are pinned while the old ones
/// still run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    /// For people.
    name: String,
    key: String,
}

/// Of the name: the rest must fit too, into a file name.
const LONGEST_NAME: usize = 40;
const DIGITS: usize = 12;
const CONTAINER: &str = "container ";

// === impl Owner ===

impl Owner {
    pub(crate) fn of(pod: &Admitted) -> Owner {
        Owner::new(&pod.namespace, &pod.name, &pod.uid.to_string(), &pod.spec_digest)
    }

    pub(crate) fn of_config(pod: &PodConfig) -> Owner {
        let spec = pod.origin.as_ref().map(|origin| origin.spec_digest.as_str()).unwrap_or_default();
        Owner::new(&pod.namespace, &pod.name, &pod.uid, spec)
    }

    fn new(namespace: &str, name: &str, uid: &str, spec: &str) -> Owner {
        let name = format!("{namespace}/{name}").chars().take(LONGEST_NAME).collect();
        Owner { name, key: format!("{uid} {}", spec.chars().take(DIGITS).collect::<String>()) }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {} {}", self.name, self.key)
    }
}

/// The owner of the image of a container that came without a file: pinned before the container is made, released with it.
pub fn image_owner(id: &ContainerId) -> String {
    format!("{CONTAINER}{id}")
}

/// The pod's images are its own no longer: after everything that ran of it is gone.
pub(crate) fn release(node: &Node, owner: &Owner) -> Result<(), DepotError> {
    node.images.content().unpin(&owner.to_string())
}

// === impl Node ===

impl Node {
    /// Releases what is kept for pods that are not here. Only with the node's lock: nobody else starts pods.
    pub(crate) fn release_images_of_nobody(&self) -> Result<(), DepotError> {
        let mut owners = BTreeSet::new();
        for entry in std::fs::read_dir(self.layout.pods()).into_iter().flatten().flatten() {
            let dir = PodDir::at(entry.path());
            match record::read::<PodRecord>(&dir.record()) {
                Ok(Some(pod)) => {
                    owners.insert(Owner::of_config(&pod.config).to_string());
                    owners.extend(containers(&dir).iter().map(image_owner));
                }
                Ok(None) => {}
                // Whose record cannot be read may still run: nothing is released.
                Err(_) => return Ok(()),
            }
        }
        for pin in self.images.content().pins()? {
            let ours = pin.owner.starts_with("pod ") || pin.owner.starts_with(CONTAINER);
            if ours && !owners.contains(&pin.owner) {
                self.images.content().unpin(&pin.owner)?;
            }
        }
        Ok(())
    }
}

fn containers(pod: &PodDir) -> Vec<ContainerId> {
    let entries = std::fs::read_dir(pod.containers()).into_iter().flatten().flatten();
    let dirs = entries.map(|entry| entry.path()).filter(|path| !PodDir::is_gone(path)).map(ContainerDir::at);
    dirs.filter_map(|dir| Some(record::read::<ContainerRecord>(&dir.record()).ok()??.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_pod_is_another_owner_and_every_name_fits() {
        let owner =
            |name: &str, spec: &str| Owner::new("default", name, &uuid::Uuid::nil().to_string(), spec);
        assert_eq!(owner("web", &"0".repeat(64)), owner("web", &"0".repeat(64)));
        assert_ne!(owner("web", &"0".repeat(64)), owner("web", &"1".repeat(64)));
        let text = owner("web", &"0".repeat(64)).to_string();
        assert_eq!(text, "pod default/web 00000000-0000-0000-0000-000000000000 000000000000");
        let dir = tempfile::tempdir().unwrap();
        let content = images::Content::open(dir.path()).unwrap();
        let worst = owner(&".".repeat(253), &"f".repeat(64)).to_string();
        content.unpin(&worst).expect("its name is short enough");
    }
}
