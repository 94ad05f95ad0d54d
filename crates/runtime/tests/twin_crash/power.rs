//! The power goes at every fail point: what was acknowledged is known to the next boot, what ran is told as ended, and
//! no file that was half written is taken for a whole one.
//!
//! The disk is real and forgets what nobody synced ([`testbed::disk`]); processes, control groups and temporary users go
//! with the machine.

use std::path::Path;

use holder::exit::ExitReason;
use runtime::record::State;
use runtime::{ContainerId, Runtime};
use testbed::disk::{Disk, Survives, Unsynced};

use crate::eventually;
use crate::ledger::{Account, Known, Ledger};
use crate::place::Place;
use crate::play::{Play, Player};
use crate::points::{World, all_points, is_of_the_agent};

/// A machine that is switched off again and again.
struct Machine {
    disk: Disk,
    world: World,
}

// proves: HP-16 twin
#[test]
fn a_power_cut_at_any_point_loses_nothing_that_was_acknowledged_and_leaves_nothing() {
    std::thread::scope(|scope| {
        for (first, unsynced) in [Unsynced::Empty, Unsynced::Zeros].into_iter().enumerate() {
            scope.spawn(move || {
                let mut machine = Machine::new(unsynced);
                for (number, point) in all_points().enumerate() {
                    let even = (first + number) % 2 == 0;
                    let survives = if even { Survives::Synced } else { Survives::Names };
                    let when = format!("power cut at {point}, unsynced {unsynced:?}, {survives:?} survives");
                    machine.cut_at(point, survives, &when);
                }
            });
        }
    });
}

// === impl Machine ===

impl Machine {
    fn new(unsynced: Unsynced) -> Machine {
        let disk = Disk::new(unsynced).unwrap();
        // The ledger is in the memory of people, which no power cut takes.
        let ledger = Ledger::new(&disk.beside().join("ledger"));
        let world = World { place: Place::furnish(disk.path()), ledger };
        Machine { disk, world }
    }

    fn cut_at(&mut self, point: &str, survives: Survives, when: &str) {
        self.world.prepare();
        // What stood there before the machine came up is on its disk.
        os::file::sync_disk(self.disk.path()).unwrap();
        let agent = self.run_until(point, when);
        let before = self.world.ledger.account();
        self.disk.cut(survives).unwrap();
        self.everything_ends(agent);
        let intended = self.world.ledger.account();
        self.disk.power_on().unwrap();
        let opened = self.world.place.try_open();
        let runtime = opened.unwrap_or_else(|e| panic!("{when}: no agent comes up: {e:?}"));
        let judge =
            Judge { intended: &intended, runtime: &runtime, a_holder_died: !is_of_the_agent(point), when };
        judge.hold_against(&before);
        self.world.place.assert_usable(&runtime, "afterwards", when);
        self.world.place.clear(runtime, when);
    }

    /// Somebody has died at the point. Whoever else runs goes on until the power goes, a moment later.
    fn run_until(&self, point: &str, when: &str) -> Player {
        let marker = self.disk.beside().join("died");
        drop(std::fs::remove_file(&marker));
        let fail = Some(failpoint::setting_once(point, 1, &marker));
        let play = Play { place: self.disk.path(), ledger: self.world.ledger.path(), seed: None, fail };
        let this = std::env::current_exe().unwrap();
        let mut agent = play.begin_in(self.disk.in_an_earlier_boot(&this).unwrap());
        eventually("somebody dies", || {
            let ended = agent.try_wait().unwrap();
            assert!(ended.is_none() || marker.exists(), "{when}: {ended:?}: {}", play.said());
            marker.exists().then_some(())
        });
        agent
    }

    /// What is not on the disk does not survive a boot.
    fn everything_ends(&self, mut agent: Player) {
        drop(agent.kill());
        agent.wait().unwrap();
        self.world.place.kill_all();
        eventually("the control groups are gone", || {
            let groups = self.world.place.groups();
            groups.iter().for_each(|group| remove_group(group));
            groups.is_empty().then_some(())
        });
        for user in self.world.place.users() {
            os::user::remove_temporary(&user).unwrap();
        }
    }
}

/// A group that is still busy is tried again.
fn remove_group(group: &Path) {
    for entry in std::fs::read_dir(group).into_iter().flatten().flatten() {
        drop(std::fs::remove_dir(entry.path()));
    }
    drop(std::fs::remove_dir(group));
}

/// Who holds what the next boot says against what was said before the cut.
struct Judge<'a> {
    /// What was asked for until everything had ended.
    intended: &'a Account,
    runtime: &'a Runtime,
    a_holder_died: bool,
    when: &'a str,
}

// === impl Judge ===

impl Judge<'_> {
    /// What was acknowledged `before` the cut is so, unless something else was intended since.
    fn hold_against(&self, before: &Account) {
        let Judge { intended, runtime, when, .. } = self;
        for (id, known) in &before.containers {
            let id = ContainerId::parse(id).unwrap();
            let later = &intended.containers[id.as_str()];
            // Whoever watches it puts it in order, which may take a moment.
            eventually(&format!("{when}: {id} is not told as running: {known:?}"), || {
                (!runtime.status(&id).is_ok_and(|status| status.state == State::Running)).then_some(())
            });
            match runtime.status(&id) {
                Ok(status) if known.pid.is_some() => {
                    assert_eq!(status.state, State::Exited, "{when}: {id}: {known:?}");
                    self.told_as_ended(&id, known, later);
                }
                Ok(_) => {}
                Err(e) => {
                    assert!(!known.created || later.removing, "{when}: {id} is forgotten: {e}: {known:?}")
                }
            }
        }
    }

    /// With its own code, if it had ended and that was told; else as lost with the machine, unless it was about to end.
    fn told_as_ended(&self, id: &ContainerId, known: &Known, later: &Known) {
        let when = self.when;
        let exit = self.runtime.status(id).unwrap().exit;
        let exit = exit.unwrap_or_else(|| panic!("{when}: nobody knows how {id} ended: {known:?}"));
        let restarted = exit.message.as_deref() == Some("the machine was restarted");
        match &known.exit {
            Some((reason, code)) if reason != "HolderDied" => {
                assert_eq!(
                    (format!("{:?}", exit.reason), exit.code),
                    (reason.clone(), *code),
                    "{when}: {exit:?}"
                );
            }
            // The agent saw its holder die and may have come to write that down, if not to tell it.
            _ if later.exit.is_some() => {}
            _ if self.a_holder_died && exit.reason == ExitReason::HolderDied => {}
            _ => assert!(restarted || later.may_end || later.removing, "{when}: {exit:?}: {later:?}"),
        }
    }
}
