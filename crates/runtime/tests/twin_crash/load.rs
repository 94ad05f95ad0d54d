//! A mixed load: verbs out of a seed, by two threads with pods of their own, until somebody says that it is enough.

use std::os::unix::process::parent_id;
use std::time::Duration;

use os::job::JobLimits;
use runtime::config::{ContainerConfig, ExecRequest, Mode};
use runtime::{ContainerId, PodId};

use crate::agent::Agent;

/// The pods of each thread.
pub(crate) const PODS: [[(&str, Mode); 2]; 2] =
    [[("one", Mode::Bind), ("two", Mode::Symlink)], [("three", Mode::Bind), ("four", Mode::Symlink)]];
/// More than so many containers of a pod at once tell nothing new.
const MOST: usize = 3;
const GRACE: Duration = Duration::from_secs(20);

/// Numbers out of a seed (xorshift): the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

/// One thread's view of its pods.
struct Hand<'a> {
    agent: &'a Agent,
    dice: Dice,
    number: usize,
    /// Who started the agent, and is to say when it is enough.
    parent: u32,
    serial: u32,
    live: [Vec<ContainerId>; 2],
}

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or_default() % limit.max(1)
    }
}

// === impl Agent ===

impl Agent {
    pub(crate) fn load(&self, seed: u64) {
        let parent = parent_id();
        std::thread::scope(|scope| {
            for number in 0..PODS.len() {
                let dice = Dice::new(seed.wrapping_add(number as u64 * 0x1000_0001));
                let live = [Vec::new(), Vec::new()];
                let hand = Hand { agent: self, dice, number, parent, serial: 0, live };
                scope.spawn(move || hand.play());
            }
        });
    }

    pub(crate) fn enough(&self) -> bool {
        self.ledger.path().with_extension("enough").exists()
    }
}

// === impl Hand ===

impl Hand<'_> {
    fn play(mut self) {
        while !self.agent.enough() && parent_id() == self.parent {
            let which = self.dice.below(2);
            let (name, mode) = PODS[self.number][which];
            let Some(pod) = self.agent.run_pod(self.agent.place.pod(name, mode)) else { return };
            let some = (!self.live[which].is_empty()).then(|| {
                let at = self.dice.below(self.live[which].len());
                (at, self.live[which][at].clone())
            });
            match (self.dice.below(10), some) {
                (0..=2, _) | (_, None) => self.begin(which, &pod),
                (3 | 4, Some((_, id))) => self.run_inside(&id),
                (5, Some((_, id))) => self.change(&id),
                (6, Some((at, id))) => {
                    self.agent.stop(&id, GRACE);
                    self.agent.remove(&id);
                    self.live[which].remove(at);
                }
                (7 | 8, Some((at, id))) => {
                    self.agent.remove(&id);
                    self.live[which].remove(at);
                }
                (_, Some(_)) => {
                    self.agent.remove_pod(&pod);
                    self.live[which].clear();
                }
            }
        }
    }

    fn begin(&mut self, which: usize, pod: &PodId) {
        if self.live[which].len() >= MOST {
            return self.run_inside(&self.live[which][0].clone());
        }
        self.serial += 1;
        let name = format!("c{}", self.serial);
        let ends = self.dice.below(3) == 0;
        let words: &[&str] = match (ends, self.dice.below(2)) {
            (true, _) => &["exit", "3"],
            (false, 0) => &["pause"],
            (false, _) => &["generations", "2"],
        };
        let Some(id) = self.agent.create(pod, self.config(which, &name, words)) else { return };
        self.live[which].push(id.clone());
        if self.agent.start(&id, ends).is_some() && ends {
            self.agent.wait(&id);
        }
    }

    /// Some have a temporary user and a mount point that others need too, some links in a volume.
    fn config(&mut self, which: usize, name: &str, words: &[&str]) -> ContainerConfig {
        let place = &self.agent.place;
        let mut config = place.container(name, words);
        let made = place.path("made").join(format!("for-{}", self.dice.below(2)));
        match (PODS[self.number][which].1, self.dice.below(3)) {
            (_, 0) => {}
            (Mode::Bind, 1) => config.mounts = vec![place.mount("outer", &made)],
            (Mode::Bind, _) => config.user = Some("games".to_owned()),
            (_, _) => {
                config.mounts = vec![
                    place.mount("outer", "/v".as_ref()),
                    place.mount("inner", format!("/v/deep-{}", self.number).as_ref()),
                ];
            }
        }
        config
    }

    fn run_inside(&mut self, id: &ContainerId) {
        let agent = self.agent;
        let argv = ["./fixture", "print", "inside"].map(str::to_owned);
        match self.dice.below(4) {
            0 => drop(agent.runtime.exec_sync(id, &argv, Some(GRACE))),
            // Somebody who goes away in the middle.
            1 => {
                let request = ExecRequest { argv: argv.to_vec(), ..ExecRequest::default() };
                drop(agent.runtime.exec(id, &request));
            }
            2 => drop(agent.runtime.attach(id, false)),
            _ => drop(agent.runtime.stats(id)),
        }
    }

    fn change(&mut self, id: &ContainerId) {
        let limits = JobLimits { processes: Some(40), ..JobLimits::default() };
        match self.dice.below(2) {
            0 => drop(self.agent.runtime.update(id, limits)),
            _ => drop(self.agent.runtime.reopen_log(id)),
        }
    }
}
