//! What takes minutes to compile, compiled beside the tests of earlier tiers: the fuzzer and the Windows executable.
//!
//! Tests mostly wait, so there is time left over, and the compilers take no more than that: they run at the lowest
//! priority. Nothing is handed over. The tier that needs the result builds as if it were the only one, finds all of
//! it made or waits for cargo's lock, and tells what does not compile.

use std::thread::{self, JoinHandle};

use anyhow::Result;

use super::{prepare, wine};
use crate::fuzz;
use crate::tier::Tier;

const LOWEST_PRIORITY: i32 = 19;

/// Waited for when dropped: a gate that has ended leaves no compiler behind.
#[derive(Debug)]
pub(super) struct Ahead(Option<JoinHandle<()>>);

/// The tiers to build for while others run. Not for the first one with tests, which would only wait.
fn worthwhile(chosen: &[Tier]) -> Vec<Tier> {
    let tests = chosen.iter().copied().filter(|tier| *tier != Tier::Lint);
    tests.skip(1).filter(|tier| matches!(tier, Tier::Fuzz | Tier::Wine)).collect()
}

// === impl Ahead ===

impl Ahead {
    /// Not before the lints have ended: they build the holder for Windows too, with other features into the same place.
    pub(super) fn start(chosen: &[Tier]) -> Self {
        let tiers = worthwhile(chosen);
        Self((!tiers.is_empty()).then(|| in_the_background(move || tiers.into_iter().for_each(build))))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let panicked = self.0.take().is_some_and(|builds| builds.join().is_err());
        if panicked {
            eprintln!("the builds ahead panicked");
        }
    }
}

/// A thread's priority is its own on Linux, and its children have it too.
fn in_the_background(work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::spawn(move || {
        let lowered = rustix::process::setpriority_process(None, LOWEST_PRIORITY);
        if let Err(error) = lowered {
            eprintln!("builds ahead run at full priority: {error}");
        }
        work();
    })
}

fn build(tier: Tier) {
    if let Err(error) = prepare(tier).and_then(|()| built(tier)) {
        let first = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
        eprintln!("the {} tier will tell more: {first}", tier.name());
    }
}

fn built(tier: Tier) -> Result<()> {
    match tier {
        Tier::Fuzz => fuzz::build().map(drop),
        Tier::Wine => wine::porthole().map(drop),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn only_what_comes_after_other_tests_is_built_ahead() {
        assert_eq!(worthwhile(Tier::all()), [Tier::Fuzz, Tier::Wine]);
        assert_eq!(worthwhile(&[Tier::Lint, Tier::Fuzz, Tier::Wine]), [Tier::Wine]);
        assert_eq!(worthwhile(&[Tier::Wine]), []);
        assert_eq!(worthwhile(&[Tier::Unit, Tier::Twin]), []);
    }

    #[test]
    fn the_compilers_are_at_the_lowest_priority_and_the_tests_are_not() {
        let nice = || Command::new("nice").output().map(|output| output.stdout);
        let ours = nice().expect("nice starts");
        let (tell, told) = mpsc::channel();
        in_the_background(move || tell.send(nice()).expect("heard")).join().expect("ended");
        assert_eq!(told.recv().expect("told").expect("nice starts"), b"19\n");
        assert_eq!(nice().expect("nice starts"), ours);
    }
}
