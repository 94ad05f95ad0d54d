//! One pod's life: start or adopt, restart, stop, clean up.
//!
//! A thread per pod and one per container, each a plain loop; they meet only at the stop flag. Every step is
//! written down before it is taken, so the next agent finds out where this one was.

pub mod backoff;
pub mod event;
pub mod remove;

mod adopt;
mod container;
mod stop_flag;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use holder::client::{Client, ClientError};
use images::platform::{Host, Isolation};
use images::{Access, Caller, Image, PullPolicy, Wanted};
use os::channel::Endpoint;

use crate::admit::{Admitted, Asked, RestartPolicy};
use crate::holders::{self, HolderError};
use crate::journal::{Effect, Journal, JournalError};
use crate::layout::PodDir;
use crate::node::Node;
use crate::pins::Owner;
use crate::record::Kind;
use event::{Event, What};
use stop_flag::StopFlag;

/// A pod that runs, or has run, on this node.
#[derive(Debug)]
pub struct PodRun {
    pod: Arc<Life>,
    thread: JoinHandle<()>,
}

/// What everybody who has to do with one pod shares.
#[derive(Debug)]
struct Life {
    node: Arc<Node>,
    pod: Admitted,
    /// One per container, in the pod's order.
    images: Vec<Image>,
    dir: PodDir,
    endpoint: Endpoint,
    restart: RestartPolicy,
    stop: StopFlag,
    /// It could not be settled, so it is neither stopped nor removed: somebody has to look at what is there.
    unsettled: AtomicBool,
    events: Sender<Event>,
}

/// A pod whose directory is settled: only now may anything of it be started.
#[derive(Debug)]
struct Running<'a> {
    life: &'a Life,
    /// Also the gate that keeps two threads from starting two holders.
    journal: Mutex<Journal>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("pod {pod}: {source}")]
    Image { pod: String, source: Box<images::ImageError> },
    #[error("pod {pod}: {source}")]
    Policy { pod: String, source: images::policy::UnknownPolicy },
    #[error("pod {pod}: write its record")]
    Record { pod: String, source: std::io::Error },
    #[error("pod {pod}")]
    Journal { pod: String, source: JournalError },
    #[error("pod {pod}: remove the one that ran before")]
    Replace { pod: String, source: remove::RemoveError },
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
    node: &Arc<Node>,
    pod: Admitted,
    images: Vec<Image>,
    mode: Mode,
    events: &Sender<Event>,
) -> Result<PodRun, RunError> {
    let dir = node.layout.pod(pod.uid);
    let restart = if mode == Mode::Once { RestartPolicy::Never } else { pod.restart };
    let life = Arc::new(Life {
        endpoint: node.layout.holder_endpoint(pod.uid),
        node: node.clone(),
        pod,
        images,
        dir,
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

/// The images of a pod, pulled and unpacked where they were not: before anything of any pod is started.
///
/// A pod that is here already has its images: a registry that is away must not keep it from being taken up again.
///
/// From now on they are kept for the pod, until it is removed or, if it never comes to be, until the next start.
pub fn pull(
    node: &Node,
    pod: &Admitted,
    access: &Access,
    caller: Caller<'_>,
) -> Result<Vec<Image>, RunError> {
    let host = Host::here(&node.facts.os, &node.facts.architecture);
    let owner = Owner::of(pod).to_string();
    let here = adopt::is_here(pod, &node.layout.pod(pod.uid));
    let ensure = |asked: &Asked| {
        let policy = asked.container.image_pull_policy.as_deref().map(PullPolicy::parse).transpose();
        let policy = policy.map_err(|source| RunError::Policy { pod: pod.full_name(), source })?;
        let policy =
            if here && policy != Some(PullPolicy::Never) { Some(PullPolicy::IfNotPresent) } else { policy };
        let wanted = Wanted {
            source: &asked.source,
            policy,
            host: &host,
            isolation: Isolation::HostProcess,
            access,
            pin: Some(&owner),
        };
        let ensured = node.images.ensure(&wanted, caller);
        ensured.map_err(|source| RunError::Image { pod: pod.full_name(), source: Box::new(source) })
    };
    pod.containers.iter().map(ensure).collect()
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

    /// Asks every container to end, within the pod's grace period or the shorter one given. Does not wait.
    pub fn stop(&self, at_most: Option<Duration>) {
        let grace = at_most.map_or(self.pod.pod.grace, |limit| limit.min(self.pod.pod.grace));
        self.pod.stop.raise(grace);
        if !self.pod.unsettled.load(Ordering::Acquire) {
            self.pod.stop_containers(grace);
        }
    }

    /// Waits for the end and takes everything of the pod off the host. A pod that cannot start is left as it was found.
    pub fn remove(self) -> Result<(), remove::RemoveError> {
        let lost = self.thread.join().is_err();
        if self.pod.unsettled.load(Ordering::Acquire) {
            return Ok(());
        }
        remove::undo(&self.pod.dir)?;
        remove::remove_dir(&self.pod.dir)?;
        remove::release(&self.pod.node, &Owner::of(&self.pod.pod))?;
        self.pod.tell(None, if lost { What::Lost } else { What::Removed });
        Ok(())
    }
}

// === impl Life ===

impl Life {
    fn settle_and_live(&self) {
        match adopt::settle(self) {
            Ok(journal) => Running { life: self, journal: Mutex::new(journal) }.live(),
            Err(e) => {
                self.unsettled.store(true, Ordering::Release);
                self.tell(None, What::CannotStart(remove::chain(&e)));
            }
        }
    }

    /// Asks what runs to end. A holder that is gone took its containers along.
    fn stop_containers(&self, grace: Duration) {
        let stopped = Client::connect(&self.endpoint).and_then(|mut client| stop_all(&mut client, grace));
        match stopped {
            Err(e) if !e.is_absent() => self.tell(None, What::Warning(format!("stop: {e}"))),
            _ => {}
        }
    }

    fn tell(&self, container: Option<&str>, what: What) {
        let event = Event { pod: self.pod.full_name(), container: container.map(str::to_owned), what };
        // Nobody listens any more: the program is ending.
        drop(self.events.send(event));
    }
}

// === impl Running ===

impl std::ops::Deref for Running<'_> {
    type Target = Life;

    fn deref(&self) -> &Life {
        self.life
    }
}

impl Running<'_> {
    fn live(&self) {
        for (asked, image) in self.of_kind(Kind::Init) {
            if self.stop.is_raised() || self.work(asked, image) != 0 {
                return;
            }
        }
        thread::scope(|scope| {
            for (asked, image) in self.of_kind(Kind::Regular) {
                scope.spawn(move || self.work(asked, image));
            }
        });
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Asked, &Image)> {
        self.pod.containers.iter().zip(&self.images).filter(move |(asked, _)| asked.kind == kind)
    }

    /// The pod's holder: the one that runs, or a new one.
    fn holder(&self) -> Result<Client, HolderError> {
        let mut journal = self.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match Client::connect(&self.endpoint) {
            Err(e) if e.is_absent() => {}
            other => return Ok(other?),
        }
        let effect = Effect::Holder { endpoint: self.endpoint.clone() };
        journal.record(&effect).map_err(|e| HolderError::Start {
            path: self.node.holder_program.clone(),
            source: std::io::Error::other(e),
        })?;
        holders::start(&self.node.holder_program, &self.endpoint, &self.dir.holder_log())
    }
}

/// Asks every running container of a holder to end.
fn stop_all(client: &mut Client, grace: Duration) -> Result<(), ClientError> {
    for held in client.list()? {
        if held.exit.is_none() {
            match client.stop(&held.id, grace) {
                // It ended between the two questions.
                Err(ClientError::Refused { .. }) => {}
                other => other?,
            }
        }
    }
    Ok(())
}

// === impl Admitted ===

impl Admitted {
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}
