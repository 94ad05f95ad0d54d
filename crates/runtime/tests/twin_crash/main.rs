//! Agents, holders and machines that die in the middle of something, and what those who come after them find.
//!
//! | module | what dies | when |
//! |---|---|---|
//! | [`points`] | the agent or a holder | at each fail point, in each verb that comes by it |
//! | [`kills`] | the agent, a holder, both | two hundred times, at moments out of a seed |
//! | [`power`] | the machine | at each fail point, with a disk that forgets what was not synced |
//!
//! The agent is this program again, told by variables what to play ([`agent`], [`play`]). Whatever was acknowledged to it
//! stands in a [`ledger`], by which the next agent's view is judged; what is left on the host is looked for from outside
//! ([`place`]).

mod agent;
mod kills;
mod ledger;
mod load;
mod place;
mod play;
mod points;
mod power;
mod tour;

use std::time::{Duration, Instant};

/// Long enough for a loaded machine; a condition that holds ends the wait at once.
const PATIENCE: Duration = Duration::from_secs(60);

fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
