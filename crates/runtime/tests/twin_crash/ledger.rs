//! What an agent was asked and what it acknowledged, line by line: the memory of whoever talked to it.
//!
//! Intentions are written before they are carried out and acknowledgements after, so whatever dies in between, the
//! ledger knows what must be so, what must not, and what may be either.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use runtime::pods::Happened;
use runtime::record::State;
use runtime::{ContainerId, PodId, Runtime};

use crate::eventually;

#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    path: PathBuf,
}

/// What must be so.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) containers: BTreeMap<String, Known>,
    pub(crate) refused: Vec<String>,
    /// The verb under way.
    pub(crate) verb: String,
    /// The fail points passed, each with its process and the verb under way.
    pub(crate) passed: Vec<(u32, String, String)>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Known {
    pub(crate) pod: String,
    pub(crate) created: bool,
    starting: bool,
    pub(crate) pid: Option<u32>,
    /// It was asked to end, or will by itself.
    pub(crate) may_end: bool,
    /// It ran when a holder to be killed was looked for: the pod's holder that was found is its own.
    aimed_at: bool,
    /// Its holder was killed.
    must_end: bool,
    pub(crate) ended: bool,
    pub(crate) removing: bool,
    pub(crate) removed: bool,
    /// How it ended, as told: reason and code.
    pub(crate) exit: Option<(String, u32)>,
}

// === impl Ledger ===

impl Ledger {
    pub(crate) fn new(path: &Path) -> Ledger {
        Ledger { path: path.to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// In one write: lines of several processes do not mix.
    pub(crate) fn note(&self, words: std::fmt::Arguments<'_>) {
        let mut file = File::options().append(true).create(true).open(&self.path).expect("the ledger");
        file.write_all(format!("{words}\n").as_bytes()).expect("the ledger is written");
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    pub(crate) fn clear(&self) {
        drop(std::fs::remove_file(&self.path));
    }

    pub(crate) fn account(&self) -> Account {
        Account::of(&self.text())
    }

    /// An event of the runtime.
    pub(crate) fn heard(&self, id: &ContainerId, what: &Happened) {
        if let Happened::Exited(exit) = what {
            self.note(format_args!("exited {id} {:?} {}", exit.reason, exit.code));
        }
    }
}

// === impl Account ===

impl Account {
    pub(crate) fn of(text: &str) -> Account {
        let mut account = Account::default();
        text.lines().for_each(|line| account.take(line));
        account
    }

    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["verb", verb] => verb.clone_into(&mut self.verb),
            ["creating", pod, id] => pod.clone_into(&mut self.of_id(id).pod),
            ["created", id] => self.of_id(id).created = true,
            ["starting", id] => self.of_id(id).starting = true,
            ["started", id, pid] => self.of_id(id).pid = pid.parse().ok(),
            ["ending", id] => self.of_id(id).may_end = true,
            ["ended", id] => self.of_id(id).ended = true,
            ["removing", id] => self.of_id(id).removing = true,
            ["removed", id] => self.of_id(id).removed = true,
            ["exited", id, reason, code] => {
                self.of_id(id).exit = Some((reason.to_owned(), code.parse().expect("a code")));
            }
            ["pod-ending", pod] => self.in_pod(pod).for_each(|known| known.removing = true),
            ["pod-gone", pod] => self.in_pod(pod).for_each(|known| known.removed = true),
            ["aiming"] => self.containers.values_mut().for_each(|it| it.aimed_at = it.pid.is_some()),
            ["killing", pod] => self.in_pod(pod).for_each(Known::holder_dies),
            // Whoever was started meanwhile may have been in the old holder or in a new one.
            ["killed", pod] => {
                self.in_pod(pod).filter(|known| known.starting).for_each(|it| it.may_end = true)
            }
            ["refused", ..] => self.refused.push(line.to_owned()),
            [pid, point] if pid.parse::<u32>().is_ok() => {
                self.passed.push((pid.parse().expect("looked"), point.to_owned(), self.verb.clone()));
            }
            _ => panic!("not a line of a ledger: {line:?}"),
        }
    }

    fn of_id(&mut self, id: &str) -> &mut Known {
        self.containers.entry(id.to_owned()).or_default()
    }

    fn in_pod<'a>(&'a mut self, pod: &'a str) -> impl Iterator<Item = &'a mut Known> {
        self.containers.values_mut().filter(move |known| known.pod == pod)
    }

    /// No container is lost that should live, none alive that should not, and none is forgotten or remembered wrongly.
    pub(crate) fn hold_against(&self, runtime: &Runtime, when: &str) {
        for (id, known) in &self.containers {
            let id = ContainerId::parse(id).expect("an id of ours");
            if known.removed {
                assert!(runtime.status(&id).is_err(), "{when}: {id} was removed and is back: {known:?}");
            } else if known.created && !known.removing {
                known.hold_against(&id, runtime, when);
            }
            if let Some(pid) = known.pid.filter(|_| known.ended || known.removed || known.must_end) {
                let message = format!("{when}: process {pid} of {id} is gone: {known:?}");
                eventually(&message, || (!os::process::is_running(pid)).then_some(()));
            }
        }
    }

    /// Every process that was ever started is gone.
    pub(crate) fn assert_all_gone(&self, when: &str) {
        for pid in self.containers.values().filter_map(|known| known.pid) {
            assert!(!os::process::is_running(pid), "{when}: {pid} runs");
        }
    }
}

// === impl Known ===

impl Known {
    fn holder_dies(&mut self) {
        let lives = self.aimed_at && !self.may_end && !self.removing;
        self.must_end |= lives;
        self.may_end = true;
    }

    fn hold_against(&self, id: &ContainerId, runtime: &Runtime, when: &str) {
        let status =
            || runtime.status(id).unwrap_or_else(|e| panic!("{when}: {id} is forgotten: {e}: {self:?}"));
        if self.must_end {
            eventually("it is told as ended", || (status().state == State::Exited).then_some(()));
            let exit = status().exit.unwrap_or_else(|| panic!("{when}: no exit of {id}"));
            assert_eq!(exit.reason, holder::exit::ExitReason::HolderDied, "{when}: {id}: {exit:?}");
        } else if let Some(pid) = self.pid.filter(|_| !self.may_end) {
            let found = (status().state, status().pid);
            assert_eq!(found, (State::Running, Some(pid)), "{when}: {id} should live: {self:?}");
            assert!(os::process::is_running(pid), "{when}: {id} should live: {self:?}");
        } else if self.ended {
            assert_eq!(status().state, State::Exited, "{when}: {id}: {self:?}");
        } else {
            drop(status());
        }
    }
}

/// The pod of that name whose holder has this command line.
pub(crate) fn pod_of<'a>(
    line: &str,
    pods: &'a [PodId],
    layout: &runtime::layout::Layout,
) -> Option<&'a PodId> {
    pods.iter().find(|pod| line.contains(&layout.holder_endpoint(pod).to_string()))
}
