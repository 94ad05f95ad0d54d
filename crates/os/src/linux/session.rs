//! What a process left behind, as far as that can be told: the members of its session.
//!
//! Every process that we start leads a session of its own, and whatever it starts is in it unless that made one too.

use std::io;

use rustix::process::Signal;

use super::process::{Process, signal};

/// Kills a leader and those of `candidates` that are in its session.
///
/// While one of them lives the kernel gives the leader's number to nobody else, even if the leader is gone.
pub(crate) fn kill(leader: &Process, candidates: impl Fn() -> io::Result<Vec<u32>>) -> io::Result<()> {
    leader.kill()?;
    // Whoever is starting a process while we look is killed, and what it started is found by looking again.
    for _ in 0..ROUNDS {
        let members: Vec<u32> =
            candidates()?.into_iter().filter(|pid| session_of(*pid) == Some(leader.id())).collect();
        if members.is_empty() {
            return Ok(());
        }
        for member in members {
            signal(member, Signal::KILL)?;
        }
    }
    Ok(())
}

/// Killed processes are listed until somebody has reaped them, so the end of this is not an empty list.
const ROUNDS: usize = 10;

fn session_of(pid: u32) -> Option<u32> {
    session_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The sixth field; the second, in parentheses, may hold anything. A zombie is in no session any more for us.
fn session_in(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    fields.nth(2)?.parse().ok().filter(|_| !matches!(state, "Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_the_fourth_field_after_the_name() {
        assert_eq!(session_in("7 (a) b) S 1 5 6 0 -1"), Some(6));
        assert_eq!(session_in("7 (a) Z 1 5 6 0 -1"), None);
        assert_eq!(session_in("7 (a"), None);
    }
}
