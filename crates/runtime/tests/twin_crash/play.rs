//! How the agent that dies is started, and that it never outlives its test.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Where the agent lives, if this process is to be one.
pub(crate) const PLACE: &str = "TWIN_CRASH_PLACE";
pub(crate) const LEDGER: &str = "TWIN_CRASH_LEDGER";
/// What it does there: a number seeds a load, nothing is the tour.
pub(crate) const SEED: &str = "TWIN_CRASH_SEED";
/// The test under whose name it runs.
const NAME: &str = "agent::an_agent_does_what_it_is_told_and_leaves_nothing";

/// How to start an agent.
#[derive(Debug)]
pub(crate) struct Play<'a> {
    pub(crate) place: &'a Path,
    pub(crate) ledger: &'a Path,
    pub(crate) seed: Option<u64>,
    /// For [`failpoint::VARIABLE`].
    pub(crate) fail: Option<String>,
}

/// One that was started. It dies with whoever was to watch it, at a panic too: it would go on for ever otherwise.
#[derive(Debug)]
pub(crate) struct Player(Child);

// === impl Play ===

impl Play<'_> {
    pub(crate) fn begin(&self) -> Player {
        self.begin_in(Command::new(std::env::current_exe().expect("this program")))
    }

    /// By a command that runs this program with what is added to it.
    pub(crate) fn begin_in(&self, mut command: Command) -> Player {
        command.args(["--exact", NAME, "--nocapture", "--test-threads=1"]);
        command.env(PLACE, self.place).env(LEDGER, self.ledger).env(failpoint::TRACE, self.ledger);
        command.envs(self.seed.map(|seed| (SEED, seed.to_string())));
        command.envs(self.fail.as_ref().map(|setting| (failpoint::VARIABLE, setting)));
        let said = std::fs::File::create(self.ledger.with_extension("said")).expect("a file for its words");
        command.stdin(Stdio::null()).stdout(said.try_clone().expect("twice")).stderr(said);
        Player(command.spawn().expect("this program runs again"))
    }

    /// What it said to people.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.ledger.with_extension("said")).unwrap_or_default()
    }
}

// === impl Player ===

impl Deref for Player {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Player {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
