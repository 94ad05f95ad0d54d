//! Two hundred kills at moments out of a seed: of the agent, of a holder, of both, under a mixed load of all verbs.
//!
//! The seed is printed; `PORTHOLE_SEED` plays the same dice again.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use runtime::PodId;

use crate::eventually;
use crate::ledger::{Ledger, pod_of};
use crate::load::{Dice, PODS};
use crate::place::{Place, Seen, kill};
use crate::play::Play;

const WORLDS: u64 = 4;
const ROUNDS: u64 = 50;
const SIGKILL: i32 = 9;
/// Long enough to come by everything, short enough to be in the middle of something.
const LONGEST: usize = 250_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Agent,
    Holder,
    Both,
}

/// One place with an agent that is killed again and again.
struct World {
    place: Place,
    ledger: Ledger,
    dice: Dice,
    when: String,
}

fn seed() -> u64 {
    let given = std::env::var("PORTHOLE_SEED").ok().map(|text| text.parse().expect("a seed is a number"));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").subsec_micros();
    given.unwrap_or_else(|| u64::from(clock()))
}

// proves: HP-16 twin
#[test]
fn two_hundred_kills_lose_no_container_keep_none_alive_and_leave_nothing() {
    let seed = seed();
    println!("PORTHOLE_SEED={seed}");
    std::thread::scope(|scope| {
        for number in 0..WORLDS {
            scope.spawn(move || {
                let dir = tempfile::tempdir().unwrap();
                let mut world = World::new(dir.path(), Dice::new(seed.wrapping_add(number)));
                for round in 0..ROUNDS {
                    world.when = format!("PORTHOLE_SEED={seed}, world {number}, round {round}");
                    world.round();
                }
            });
        }
    });
}

// === impl World ===

impl World {
    fn new(dir: &Path, dice: Dice) -> World {
        let ledger = Ledger::new(&dir.join("ledger"));
        World { place: Place::furnish(dir), ledger, dice, when: String::new() }
    }

    fn round(&mut self) {
        let victim = match self.dice.below(4) {
            0 | 1 => Victim::Agent,
            2 => Victim::Holder,
            _ => Victim::Both,
        };
        self.when.push_str(&format!(", {victim:?}"));
        self.ledger.clear();
        drop(std::fs::remove_file(self.ledger.path().with_extension("enough")));
        let (place, ledger) = (self.place.path(""), self.ledger.path().to_owned());
        let seed = Some(self.dice.below(usize::MAX) as u64);
        let play = Play { place: &place, ledger: &ledger, seed, fail: None };
        let mut agent = play.begin();
        std::thread::sleep(Duration::from_micros(self.dice.below(LONGEST) as u64));
        let ended = self.strike(victim, &mut agent);
        let fits = if victim == Victim::Holder { ended.success() } else { ended.signal() == Some(SIGKILL) };
        assert!(fits, "{}: {ended}: {}", self.when, play.said());
        self.judge();
    }

    fn strike(&mut self, victim: Victim, agent: &mut Child) -> ExitStatus {
        let agent_first = self.dice.below(2) == 0;
        if victim == Victim::Agent || (victim == Victim::Both && agent_first) {
            agent.kill().expect("it is ours");
        }
        if victim != Victim::Agent {
            self.kill_a_holder(victim == Victim::Holder);
        }
        if victim == Victim::Holder {
            // It goes on for a while without that holder, and then ends of its own.
            std::thread::sleep(Duration::from_micros(self.dice.below(LONGEST / 4) as u64));
            std::fs::write(self.ledger.path().with_extension("enough"), "").expect("a file");
        } else {
            drop(agent.kill());
        }
        agent.wait().expect("it is ours")
    }

    /// An agent that lives will have one in a moment; one that was killed may have had none.
    fn kill_a_holder(&mut self, wait: bool) {
        let look = || {
            self.ledger.note(format_args!("aiming"));
            self.place.holders()
        };
        let found = if wait {
            eventually("there is a holder", || Some(look()).filter(|all| !all.is_empty()))
        } else {
            look()
        };
        if found.is_empty() {
            return;
        }
        let Seen { pid, line, .. } = &found[self.dice.below(found.len())];
        let pods: Vec<PodId> =
            PODS.iter().flatten().map(|(name, _)| PodId::parse(name).expect("a name")).collect();
        let pod = pod_of(line, &pods, &self.place.layout());
        let pod = pod.unwrap_or_else(|| panic!("{}: whose holder is {line}", self.when));
        self.ledger.note(format_args!("killing {pod}"));
        kill(*pid);
        self.ledger.note(format_args!("killed {pod}"));
    }

    /// What the next agent finds is what was promised; and when all of it is removed, nothing is left.
    fn judge(&self) {
        let when = &self.when;
        let account = self.ledger.account();
        let never = ["run_pod", "create", "stop", "remove", "remove_pod", "wait"];
        let wrong = account
            .refused
            .iter()
            .filter(|line| never.iter().any(|verb| line.split(' ').nth(1) == Some(verb)));
        assert_eq!(wrong.collect::<Vec<_>>(), [""; 0], "{when}");
        let runtime = self.place.open();
        account.hold_against(&runtime, when);
        self.place.clear(runtime, when);
        account.assert_all_gone(when);
    }
}

/// A failure must not leave its containers to the next test.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}\n{}", self.when, self.ledger.text());
            self.place.kill_all();
        }
    }
}
