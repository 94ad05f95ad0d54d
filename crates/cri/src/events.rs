//! What happens to pods and containers, for kubelets that would rather hear it than ask.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use runtime::pods::{Happened, RuntimeEvent};
use runtime::{PodId, Runtime};
use tokio::sync::broadcast::{self, Receiver, Sender};

use crate::api::{ContainerEventResponse, ContainerEventType, ContainerStatus, PodSandboxStatus};
use crate::told;

/// Those who watch. One that does not listen loses what is older than this many events, and its stream ends: it asks
/// for everything then, as it would after any other break.
const KEPT: usize = 1024;

/// None once closed. The only sender there is: with it go the streams of those who watch.
type Told = Mutex<Option<Sender<ContainerEventResponse>>>;

#[derive(Debug)]
pub struct Events(Arc<Told>);

// === impl Events ===

impl Events {
    /// Follows the runtime as long as it lives.
    pub fn follow(runtime: &Runtime, address: String) -> std::io::Result<Events> {
        let told = Arc::new(Mutex::new(Some(broadcast::channel(KEPT).0)));
        let (heard, events) = (runtime.events(), Events(Arc::clone(&told)));
        // The runtime's own listeners would keep it from ending: only a look at it is kept.
        let runtime = runtime.watcher();
        thread::Builder::new().name("events".to_owned()).spawn(move || {
            let mut last = HashMap::new();
            for event in heard {
                let Some(runtime) = runtime.upgrade() else { return };
                let translated = translated(&runtime, &event, &address, &mut last);
                let Some(sender) = &*open(&told) else { return };
                // Nobody may be watching.
                translated.into_iter().for_each(|event| drop(sender.send(event)));
            }
        })?;
        Ok(events)
    }

    /// Everything from now on; none once closed.
    pub fn watch(&self) -> Option<Receiver<ContainerEventResponse>> {
        open(&self.0).as_ref().map(Sender::subscribe)
    }

    /// Ends the streams of those who watch.
    pub fn close(&self) {
        open(&self.0).take();
    }
}

fn open(told: &Told) -> std::sync::MutexGuard<'_, Option<Sender<ContainerEventResponse>>> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pod without a process begins to run in the moment it is made.
fn kinds(event: &RuntimeEvent) -> &'static [ContainerEventType] {
    use ContainerEventType::{
        ContainerCreatedEvent, ContainerDeletedEvent, ContainerStartedEvent, ContainerStoppedEvent,
    };
    match &event.what {
        Happened::Ready => &[ContainerCreatedEvent, ContainerStartedEvent],
        Happened::Created => &[ContainerCreatedEvent],
        Happened::Started { .. } => &[ContainerStartedEvent],
        Happened::Exited(_) | Happened::Stopped => &[ContainerStoppedEvent],
        Happened::Removed => &[ContainerDeletedEvent],
        Happened::Warning(_) => &[],
    }
}

fn translated(
    runtime: &Runtime,
    event: &RuntimeEvent,
    address: &str,
    last: &mut HashMap<PodId, PodSandboxStatus>,
) -> Vec<ContainerEventResponse> {
    let kinds = kinds(event);
    if kinds.is_empty() {
        return Vec::new();
    }
    let (pod, containers) = seen(runtime, &event.pod, address, last);
    if event.container.is_none() && matches!(event.what, Happened::Removed) {
        last.remove(&event.pod);
    }
    let of = event.container.as_ref().map_or_else(|| event.pod.to_string(), ToString::to_string);
    let answer = |kind: &ContainerEventType| ContainerEventResponse {
        container_id: of.clone(),
        container_event_type: (*kind).into(),
        created_at: told::time::now(),
        pod_sandbox_status: pod.clone(),
        containers_statuses: containers.clone(),
    };
    kinds.iter().map(answer).collect()
}

/// Of a pod that is gone, what was last known: a kubelet wants to know whose end it was.
fn seen(
    runtime: &Runtime,
    id: &PodId,
    address: &str,
    last: &mut HashMap<PodId, PodSandboxStatus>,
) -> (Option<PodSandboxStatus>, Vec<ContainerStatus>) {
    match runtime.pod_status(id) {
        Ok(pod) => {
            let status = told::pod::status(&pod, address);
            last.insert(id.clone(), status.clone());
            (Some(status), pod.containers.iter().map(told::container::status).collect())
        }
        Err(_) => (last.get(id).cloned(), Vec::new()),
    }
}
