//! What happens to pods and containers, told to whoever listens.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use holder::exit::ExitRecord;

use super::{Container, Pod, Runtime, lock};
use crate::ids::{ContainerId, PodId};

#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeEvent {
    pub pod: PodId,
    /// `namespace/name`.
    pub pod_name: String,
    pub container: Option<ContainerId>,
    pub container_name: Option<String>,
    pub what: Happened,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// The pod may have containers.
    Ready,
    Created,
    Started {
        pid: u32,
    },
    Exited(ExitRecord),
    /// The pod has ended.
    Stopped,
    Removed,
    Warning(String),
}

/// Those who listen; whoever went away is noticed at the next event.
#[derive(Debug, Default)]
pub(super) struct Listeners(Mutex<Vec<Sender<RuntimeEvent>>>);

// === impl Runtime ===

impl Runtime {
    /// Everything that happens from now on.
    pub fn events(&self) -> Receiver<RuntimeEvent> {
        let (sender, receiver) = channel();
        lock(&self.inner.listeners.0).push(sender);
        receiver
    }

    pub(super) fn tell(&self, pod: &Pod, container: Option<&Container>, what: Happened) {
        let event = RuntimeEvent {
            pod: pod.id.clone(),
            pod_name: lock(&pod.record).config.full_name(),
            container: container.map(|container| container.id.clone()),
            container_name: container.map(|container| container.life().record.config.name.clone()),
            what,
        };
        lock(&self.inner.listeners.0).retain(|listener| listener.send(event.clone()).is_ok());
    }
}
