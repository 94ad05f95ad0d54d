//! The agent that dies: this program again, with verbs that say in the ledger what is asked and what was done.

use std::path::{Path, PathBuf};
use std::time::Duration;

use runtime::config::{ContainerConfig, PodConfig};
use runtime::record::State;
use runtime::{ContainerId, PodId, Runtime, RuntimeError};

use crate::eventually;
use crate::ledger::Ledger;
use crate::place::Place;
use crate::play::{LEDGER, PLACE, SEED};

/// An agent at work.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
    pub(crate) runtime: Runtime,
}

/// Without the variables: a whole tour that nobody disturbs.
#[test]
fn an_agent_does_what_it_is_told_and_leaves_nothing() {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let (Some(place), Some(ledger)) = (given(PLACE), given(LEDGER)) {
        return Agent::open(&place, &ledger).play();
    }
    let dir = tempfile::tempdir().unwrap();
    let place = Place::furnish(dir.path());
    let ledger = dir.path().join("ledger");
    let agent = Agent::open(dir.path(), &ledger);
    agent.tour();
    drop(agent);
    let account = Ledger::new(&ledger).account();
    assert_eq!(account.refused, [""; 0]);
    let known = account.containers.values().filter(|known| known.created);
    assert!(known.clone().count() == 3 && known.clone().all(|known| known.removed), "{account:?}");
    place.assert_bare("after a tour");
}

// === impl Agent ===

impl Agent {
    fn open(place: &Path, ledger: &Path) -> Agent {
        let (place, ledger) = (Place::at(place), Ledger::new(ledger));
        ledger.note(format_args!("verb open"));
        let runtime = place.open();
        let (events, notes) = (runtime.events(), ledger.clone());
        std::thread::spawn(move || {
            for event in events {
                event.container.iter().for_each(|id| notes.heard(id, &event.what));
            }
        });
        Agent { place, ledger, runtime }
    }

    fn play(&self) {
        match std::env::var(SEED) {
            Ok(seed) => self.load(seed.parse().expect("a seed is a number")),
            Err(_) => self.tour(),
        }
    }

    pub(crate) fn verb<T>(&self, verb: &str, done: Result<T, RuntimeError>) -> Option<T> {
        done.map_err(|e| self.ledger.note(format_args!("refused {verb} {e:?}"))).ok()
    }

    pub(crate) fn run_pod(&self, config: PodConfig) -> Option<PodId> {
        self.ledger.note(format_args!("verb run_pod"));
        self.verb("run_pod", self.runtime.run_pod(config))
    }

    pub(crate) fn create(&self, pod: &PodId, config: ContainerConfig) -> Option<ContainerId> {
        let id = ContainerId::of(pod, &config.name, config.attempt);
        self.ledger.note(format_args!("verb create"));
        self.ledger.note(format_args!("creating {pod} {id}"));
        self.verb("create", self.runtime.create(pod, config))?;
        self.ledger.note(format_args!("created {id}"));
        Some(id)
    }

    pub(crate) fn start(&self, id: &ContainerId, ends: bool) -> Option<u32> {
        self.ledger.note(format_args!("verb start"));
        if ends {
            self.ledger.note(format_args!("ending {id}"));
        }
        self.ledger.note(format_args!("starting {id}"));
        let pid = self.verb("start", self.runtime.start(id))?;
        self.ledger.note(format_args!("started {id} {pid}"));
        Some(pid)
    }

    pub(crate) fn wait(&self, id: &ContainerId) {
        self.ledger.note(format_args!("verb exit"));
        if self.verb("wait", self.runtime.wait(id)).is_some() {
            self.ledger.note(format_args!("ended {id}"));
        }
    }

    pub(crate) fn stop(&self, id: &ContainerId, grace: Duration) {
        self.ledger.note(format_args!("verb stop"));
        self.ledger.note(format_args!("ending {id}"));
        if self.verb("stop", self.runtime.stop(id, grace)).is_some() {
            self.ledger.note(format_args!("ended {id}"));
        }
    }

    pub(crate) fn remove(&self, id: &ContainerId) {
        self.ledger.note(format_args!("verb remove"));
        self.ledger.note(format_args!("removing {id}"));
        if self.verb("remove", self.runtime.remove(id)).is_some() {
            self.ledger.note(format_args!("removed {id}"));
        }
    }

    pub(crate) fn remove_pod(&self, pod: &PodId) {
        self.ledger.note(format_args!("verb remove_pod"));
        self.ledger.note(format_args!("pod-ending {pod}"));
        if self.verb("remove_pod", self.runtime.remove_pod(pod)).is_some() {
            self.ledger.note(format_args!("pod-gone {pod}"));
        }
    }

    pub(crate) fn runs(&self, id: &ContainerId) -> bool {
        self.runtime.status(id).is_ok_and(|status| status.state == State::Running)
    }

    /// Waits for something that a container does, or for its end.
    pub(crate) fn until(&self, id: &ContainerId, what: &str, mut done: impl FnMut() -> bool) {
        eventually(what, || (done() || !self.runs(id)).then_some(()));
    }
}
