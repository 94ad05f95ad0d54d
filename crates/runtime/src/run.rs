//! One pod's life as a file asks for it: start or adopt, restart, stop, clean up.
//!
//! A thread per pod and one per container, each a plain loop over the runtime's verbs; they meet only at the stop flag.
//! Each attempt to run a container is a container of its own: made, started, waited for, and removed when the attempt
//! after the next one begins.

pub mod backoff;
pub mod event;

mod adopt;
mod config;
mod container;
mod pull;
mod stop_flag;
mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use images::Image;

use crate::admit::{Admitted, Asked, RestartPolicy};
use crate::error::{RuntimeError, chain};
use crate::ids::PodId;
use crate::pins::{self, Owner};
use crate::pods::{ContainerFilter, Runtime};
use crate::record::{Kind, PodState};
use event::{Event, What};
use stop_flag::StopFlag;

pub use pull::pull;

/// A pod that runs, or has run, on this node.
#[derive(Debug)]
pub struct PodRun {
    pod: Arc<Life>,
    thread: JoinHandle<()>,
}

/// What everybody who has to do with one pod shares.
#[derive(Debug)]
struct Life {
    runtime: Runtime,
    id: PodId,
    pod: Admitted,
    /// One per container, in the pod's order.
    images: Vec<Image>,
    restart: RestartPolicy,
    stop: StopFlag,
    /// It could not be settled, so it is neither stopped nor removed: somebody has to look at what is there.
    unsettled: AtomicBool,
    events: Sender<Event>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("pod {pod}: {source}")]
    Image { pod: String, source: Box<images::ImageError> },
    #[error("pod {pod}: {source}")]
    Policy { pod: String, source: images::policy::UnknownPolicy },
    #[error("pod {pod}: {source}")]
    Runtime { pod: String, source: RuntimeError },
    #[error("pod {pod}: remove the one that ran before")]
    Replace { pod: String, source: RuntimeError },
    #[error("pod {pod}: make its volume {name}")]
    Volume { pod: String, name: String, source: std::io::Error },
    #[error("pod {pod}: release its images")]
    Images { pod: String, source: images::DepotError },
    #[error("start a thread")]
    Thread(#[source] std::io::Error),
}

/// Whether a container that ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As the pod's restart policy says.
    AsThePodSays,
    /// Never: every container runs once.
    Once,
}

/// Takes the pod up: adopts what runs of it, starts the rest. The images must be there already. Does not wait: where
/// a pod that has changed must end first, that too can be hurried by a stop.
pub fn start(
    runtime: &Runtime,
    pod: Admitted,
    images: Vec<Image>,
    mode: Mode,
    events: &Sender<Event>,
) -> Result<PodRun, RunError> {
    let restart = if mode == Mode::Once { RestartPolicy::Never } else { pod.restart };
    let life = Arc::new(Life {
        runtime: runtime.clone(),
        id: PodId::from(pod.uid),
        pod,
        images,
        restart,
        stop: StopFlag::default(),
        unsettled: AtomicBool::new(false),
        events: events.clone(),
    });
    let thread = {
        let life = life.clone();
        thread::Builder::new()
            .name("pod".to_owned())
            .spawn(move || life.settle_and_live())
            .map_err(RunError::Thread)?
    };
    Ok(PodRun { pod: life, thread })
}

// === impl PodRun ===

impl PodRun {
    pub fn full_name(&self) -> String {
        self.pod.pod.full_name()
    }

    /// Nothing of the pod runs and nothing will be started again.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    pub fn id(&self) -> &PodId {
        &self.pod.id
    }

    /// Something was done to the pod by another than us: whoever waits to start it again looks whether it still may.
    pub fn look_again(&self) {
        self.pod.stop.wake();
    }

    /// Asks every container to end, within the pod's grace period or the shorter one given. Does not wait.
    pub fn stop(&self, at_most: Option<Duration>) {
        let grace = at_most.map_or(self.pod.pod.grace, |limit| limit.min(self.pod.pod.grace));
        self.pod.stop.raise(grace);
        if !self.pod.unsettled.load(Ordering::Acquire) {
            self.pod.ask_all(grace);
        }
    }

    /// Waits for the end and takes everything of the pod off the host. A pod that cannot start is left as it was found.
    pub fn remove(self) -> Result<(), RunError> {
        let lost = self.thread.join().is_err();
        if self.pod.unsettled.load(Ordering::Acquire) {
            return Ok(());
        }
        let pod = self.pod.pod.full_name();
        let was_there = self.pod.runtime.pod_status(&self.pod.id).is_ok();
        let removed = self.pod.runtime.remove_pod(&self.pod.id);
        removed.map_err(|source| RunError::Runtime { pod: pod.clone(), source })?;
        let owner = Owner::of(&self.pod.pod);
        pins::release(self.pod.runtime.node(), &owner).map_err(|source| RunError::Images { pod, source })?;
        if lost || was_there {
            self.pod.tell(None, if lost { What::Lost } else { What::Removed });
        }
        Ok(())
    }
}

// === impl Life ===

impl Life {
    fn settle_and_live(&self) {
        match adopt::settle(self) {
            Ok(()) => {
                self.live();
                self.tell_if_by_hand();
            }
            Err(e) => {
                self.unsettled.store(true, Ordering::Release);
                self.tell(None, What::CannotStart(chain(&e)));
            }
        }
    }

    fn live(&self) {
        for (asked, image) in self.of_kind(Kind::Init) {
            if self.is_ending() || self.work(asked, image) != 0 {
                return;
            }
        }
        thread::scope(|scope| {
            for (asked, image) in self.of_kind(Kind::Regular) {
                scope.spawn(move || self.work(asked, image));
            }
        });
    }

    /// Nothing may be started any more: we were asked, or somebody stopped or removed the pod behind our back.
    fn is_ending(&self) -> bool {
        self.stop.is_raised() || self.taken().is_some()
    }

    /// What somebody else did to the pod.
    fn taken(&self) -> Option<What> {
        match self.runtime.pod_status(&self.id) {
            Ok(pod) if pod.state == PodState::Stopped => Some(What::StoppedByHand),
            Err(RuntimeError::NoPod(_)) => Some(What::RemovedByHand),
            _ => None,
        }
    }

    fn tell_if_by_hand(&self) {
        if let Some(what) = self.taken().filter(|_| !self.stop.is_raised()) {
            self.tell(None, what);
        }
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Asked, &Image)> {
        self.pod.containers.iter().zip(&self.images).filter(move |(asked, _)| asked.kind == kind)
    }

    /// Asks what runs to end.
    fn ask_all(&self, grace: Duration) {
        let of_pod = ContainerFilter { pod: Some(self.id.clone()), ..ContainerFilter::default() };
        for container in self.runtime.containers(&of_pod) {
            if let Err(e) = self.runtime.ask_to_stop(&container.id, grace) {
                self.tell(Some(&container.config.name), What::Warning(format!("stop: {}", chain(&e))));
            }
        }
    }

    fn tell(&self, container: Option<&str>, what: What) {
        let event = Event { pod: self.pod.full_name(), container: container.map(str::to_owned), what };
        // Nobody listens any more: the program is ending.
        drop(self.events.send(event));
    }
}

// === impl Admitted ===

impl Admitted {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
