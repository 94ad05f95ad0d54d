//! The matrix: every fail point of the agent and of the holder, in every verb that comes by it.
//!
//! An undisturbed tour tells who comes by which point in which verb, and for the how manieth time; then the tour is made
//! again for each of these, and somebody dies there. A point of the tables that no verb comes by is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Mutex;

use crate::eventually;
use crate::ledger::{Account, Ledger};
use crate::place::Place;
use crate::play::Play;

const SIGABRT: i32 = 6;
const WORLDS: usize = 2;
/// Here the end of the container was written down before its holder died.
const AFTER_THE_END: [&str; 4] = ["hold-exit-written", "hold-job-close", "hold-job-closed", "hold-leaving"];
/// The tour's own look whether all is well.
const AFTERWARDS: &str = "again";

/// One death: at the `times`-th passing of a point, which is in this verb.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) point: String,
    pub(crate) verb: String,
    pub(crate) times: u64,
}

/// A place for tours.
pub(crate) struct World {
    pub(crate) place: Place,
    pub(crate) ledger: Ledger,
}

// proves: HP-16 twin
#[test]
fn whoever_dies_at_any_point_of_any_verb_leaves_nothing_that_others_cannot_put_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let cells = World::furnish(dir.path()).cells();
    let found: BTreeSet<_> = cells.iter().map(|cell| cell.point.as_str()).collect();
    let missing: Vec<_> = all_points().filter(|point| !found.contains(point)).collect();
    assert_eq!(missing, [""; 0], "no verb comes by");
    let (queue, dead) = (Mutex::new(cells), Mutex::new(BTreeSet::new()));
    let next = || queue.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..WORLDS {
            scope.spawn(|| {
                let dir = tempfile::tempdir().unwrap();
                let world = World::furnish(dir.path());
                while let Some(cell) = next() {
                    if world.die(&cell) {
                        println!("{} in {}", cell.point, cell.verb);
                        dead.lock().unwrap().insert(cell.point);
                    }
                }
            });
        }
    });
    let dead = dead.into_inner().unwrap();
    let missing: Vec<_> = all_points().filter(|point| !dead.contains(*point)).collect();
    assert_eq!(missing, [""; 0], "nobody died at");
}

pub(crate) fn all_points() -> impl Iterator<Item = &'static str> {
    runtime::fail::POINTS.iter().chain(holder::fail::POINTS).map(|point| point.name)
}

/// All others are the agent's, those of the image store that it comes by among them.
pub(crate) fn is_of_the_agent(point: &str) -> bool {
    !holder::fail::POINTS.iter().any(|known| known.name == point)
}

// === impl World ===

impl World {
    pub(crate) fn furnish(dir: &Path) -> World {
        World { place: Place::furnish(dir), ledger: Ledger::new(&dir.join("ledger")) }
    }

    /// What is passed in which verb.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let ended = self.tour(None);
        assert!(ended.0.success(), "{}: {}", ended.0, ended.1);
        let mut passings: BTreeMap<(u32, String), u64> = BTreeMap::new();
        let mut cells: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (pid, point, verb) in self.ledger.account().passed {
            let times = passings.entry((pid, point.clone())).or_default();
            *times += 1;
            if verb != AFTERWARDS {
                cells.entry((point, verb)).or_insert(*times);
            }
        }
        cells.into_iter().map(|((point, verb), times)| Cell { point, verb, times }).collect()
    }

    /// An agent's whole tour, or as far as it gets; and its words.
    fn tour(&self, fail: Option<String>) -> (ExitStatus, String) {
        self.prepare();
        let place = self.place.path("");
        let play = Play { place: &place, ledger: self.ledger.path(), seed: None, fail };
        let mut agent = play.begin();
        let ended = eventually("the tour ends", || agent.try_wait().expect("it is ours"));
        (ended, play.said())
    }

    /// As a crash leaves it that came before: a pod that has a directory and no record.
    pub(crate) fn prepare(&self) {
        self.ledger.clear();
        drop(std::fs::remove_dir_all(self.place.path("source")));
        std::fs::create_dir_all(self.place.path("root/pods/left/containers")).expect("a directory");
    }

    /// False if the tour did not come by this time: which thread is first differs from tour to tour.
    fn die(&self, cell: &Cell) -> bool {
        let when = &format!("{cell:?}");
        let marker = self.ledger.path().with_extension("died");
        drop(std::fs::remove_file(&marker));
        let (ended, said) = self.tour(Some(failpoint::setting_once(&cell.point, cell.times, &marker)));
        let died = marker.exists();
        let as_meant = match died && is_of_the_agent(&cell.point) {
            true => ended.signal() == Some(SIGABRT),
            // The agent goes on without its holder, whatever it was asked, and ends well.
            false => ended.success(),
        };
        let account = self.ledger.account();
        assert!(as_meant && (died || cell.times > 1), "{when}: {ended}: {said}\n{}", self.ledger.text());
        let runtime = self.place.open();
        account.hold_against(&runtime, when);
        self.place.assert_usable(&runtime, "afterwards", when);
        self.place.clear(runtime, when);
        account.assert_all_gone(when);
        if died && !is_of_the_agent(&cell.point) {
            told_of_the_holder(cell, &account, when);
        }
        died
    }
}

/// Whoever was in the holder is told as ended, with the reason; and nothing but what needs a holder was refused.
fn told_of_the_holder(cell: &Cell, account: &Account, when: &str) {
    let needs_it = ["start", "exec", "attach", "stats", "update", "reopen_log"];
    let verb = |line: &&String| line.split(' ').nth(1).is_some_and(|verb| needs_it.contains(&verb));
    let wrong: Vec<_> = account.refused.iter().filter(|line| !verb(line)).collect();
    assert_eq!(wrong, [""; 0], "{when}");
    let started = account.containers.values().filter(|known| known.pid.is_some());
    let silent: Vec<_> = started.filter(|known| known.exit.is_none()).collect();
    assert!(silent.is_empty(), "{when}: nobody was told how these ended: {silent:?}");
    let reasons: Vec<_> = account.containers.values().filter_map(|known| known.exit.clone()).collect();
    let lost = |(reason, _): &(String, u32)| reason == "HolderDied" || reason == "StartError";
    assert!(
        AFTER_THE_END.contains(&cell.point.as_str()) || reasons.iter().any(lost),
        "{when}: nobody was told that a holder died: {reasons:?}"
    );
}

/// A failure must not leave its containers to the next test.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.place.kill_all();
        }
    }
}
