//! A machine's life: who boots it again, and how it learns why process 1 ended.

use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Signal, pidfd_send_signal};

use super::world::{Boot, World, lock};

/// reboot(2) in a pid namespace ends process 1 by these (reboot_pid_ns in the kernel).
const RESTARTED: i32 = 1;
const POWERED_OFF: i32 = 2;
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    Booting,
    Up { init: u32, boot_id: String },
    Off,
    Failed(String),
}

/// What shall follow the end of process 1 when we ended it ourselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Boot,
    Off,
}

#[derive(Debug)]
struct Status {
    state: State,
    generation: u32,
    asked: Option<Next>,
    /// Process 1 of the present boot; unlike a pid it never comes to mean another process.
    init: Option<Arc<OwnedFd>>,
}

/// State shared between the machine's owner and the thread that waits for process 1.
#[derive(Debug)]
pub(super) struct Power {
    status: Mutex<Status>,
    changed: Condvar,
}

// === impl Power ===

impl Power {
    /// Boots the world and keeps booting it until it is powered off.
    pub(super) fn on(world: &Arc<World>) -> Result<(Arc<Self>, JoinHandle<()>)> {
        let status = Status { state: State::Booting, generation: 1, asked: None, init: None };
        let power = Arc::new(Self { status: Mutex::new(status), changed: Condvar::new() });
        let boot = world.boot(1)?;
        power.up(&boot);
        let (shared, world) = (Arc::clone(&power), Arc::clone(world));
        let thread = std::thread::Builder::new().name(format!("machine {}", world.name));
        let thread = thread.spawn(move || shared.supervise(&world, boot)).context("start a thread")?;
        Ok((power, thread))
    }

    fn supervise(&self, world: &World, mut boot: Boot) {
        loop {
            match self.await_end(world, &mut boot) {
                Ok(Next::Off) => return self.set(State::Off),
                Err(error) => return self.set(State::Failed(format!("{error:#}"))),
                Ok(Next::Boot) => {}
            }
            match world.boot(self.begin()) {
                Ok(next) => boot = next,
                Err(error) => return self.set(State::Failed(format!("{error:#}"))),
            }
            self.up(&boot);
        }
    }

    fn await_end(&self, world: &World, boot: &mut Boot) -> Result<Next> {
        let status = boot.parent.wait().context("wait for process 1")?;
        let asked = self.ended();
        world.sweep()?;
        after(status, asked).with_context(|| format!("process 1 ended with {status}"))
    }

    /// From here on nobody can ask the boot that ended for anything.
    fn ended(&self) -> Option<Next> {
        let mut status = lock(&self.status);
        status.state = State::Booting;
        self.changed.notify_all();
        status.asked.take()
    }

    fn begin(&self) -> u32 {
        let mut status = lock(&self.status);
        status.generation += 1;
        status.generation
    }

    fn up(&self, boot: &Boot) {
        lock(&self.status).init = Some(Arc::clone(&boot.handle));
        self.set(State::Up { init: boot.init, boot_id: boot.boot_id.clone() });
    }

    fn set(&self, state: State) {
        lock(&self.status).state = state;
        self.changed.notify_all();
    }

    /// Pulls the plug: process 1 and with it all others end at once, and the machine boots again.
    pub(super) fn reset(&self) -> Result<u32> {
        let generation = lock(&self.status).generation;
        self.kill(Next::Boot)?;
        Ok(generation + 1)
    }

    /// Pulls the plug for good. A machine that is off or broken already stays so.
    pub(super) fn off(&self) -> Result<()> {
        loop {
            self.wait(PATIENCE, |state, _| *state != State::Booting)?;
            if !matches!(self.state().0, State::Up { .. }) {
                return Ok(());
            }
            // It may be rebooting from inside this moment: then the next boot is the one that ends.
            let _ = self.kill(Next::Off);
            self.wait(PATIENCE, |state, _| !matches!(state, State::Up { .. }))?;
        }
    }

    fn kill(&self, next: Next) -> Result<()> {
        let mut status = lock(&self.status);
        let (State::Up { .. }, Some(init)) = (&status.state, status.init.clone()) else {
            bail!("the machine is not up: {:?}", status.state)
        };
        status.asked = Some(next);
        // Gone already means that it was just rebooted from inside: that comes to the same.
        let _ = pidfd_send_signal(init, Signal::KILL);
        Ok(())
    }

    pub(super) fn state(&self) -> (State, u32) {
        let status = lock(&self.status);
        (status.state.clone(), status.generation)
    }

    /// Waits until boot number `generation` or a later one is up.
    pub(super) fn wait_booted(&self, generation: u32, limit: Duration) -> Result<()> {
        self.wait(limit, |state, now| match state {
            State::Up { .. } => now >= generation,
            State::Off | State::Failed(_) => true,
            State::Booting => false,
        })?;
        let (state, now) = self.state();
        ensure!(matches!(state, State::Up { .. }), "the machine is not up after boot {now}: {state:?}");
        Ok(())
    }

    fn wait(&self, limit: Duration, done: impl Fn(&State, u32) -> bool) -> Result<()> {
        let end = Instant::now() + limit;
        let mut status = lock(&self.status);
        while !done(&status.state, status.generation) {
            let left = end.saturating_duration_since(Instant::now());
            ensure!(
                !left.is_zero(),
                "waited {} s in vain, the machine is {:?}",
                limit.as_secs(),
                status.state
            );
            let woken = self.changed.wait_timeout(status, left);
            status = woken.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        Ok(())
    }
}

/// What follows the end of process 1; none if nobody asked for it.
fn after(status: ExitStatus, asked: Option<Next>) -> Option<Next> {
    // A parent that was told to ignore SIGHUP reports the signal as a shell does.
    let signal = status.signal().or_else(|| status.code().map(|code| code - 128));
    match signal {
        _ if asked == Some(Next::Off) => asked,
        Some(RESTARTED) => Some(Next::Boot),
        Some(POWERED_OFF) => Some(Next::Off),
        _ => asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_process_1_ended_decides() {
        let by_signal = ExitStatus::from_raw;
        let by_code = |code: i32| ExitStatus::from_raw(code << 8);
        for (status, asked, next) in [
            (by_signal(1), None, Some(Next::Boot)),
            (by_code(129), None, Some(Next::Boot)),
            (by_signal(1), Some(Next::Off), Some(Next::Off)),
            (by_signal(2), None, Some(Next::Off)),
            (by_signal(9), Some(Next::Boot), Some(Next::Boot)),
            (by_signal(9), Some(Next::Off), Some(Next::Off)),
            (by_signal(9), None, None),
            (by_code(1), None, None),
        ] {
            assert_eq!(after(status, asked), next, "{status:?} {asked:?}");
        }
    }
}
