//! The test programs that run now: an interrupted gate ends them, what they left, and its compilers before it ends itself.
//!
//! Ctrl-C reaches the programs of a terminal, but not what tests started in sessions of their own, as holders are; a
//! SIGTERM for the gate reaches none of them.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use testbed::process::children;

use super::leftovers;

/// As a shell says it of a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

static RUNNING: Mutex<Vec<Program>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Program {
    process: OwnedFd,
    variable: &'static str,
    value: PathBuf,
}

/// A program that an interrupt ends, with all that has its mark, as long as this is kept.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) child: Child,
    variable: &'static str,
    value: PathBuf,
}

/// From now on an interrupt ends what runs and what it left, and then the gate.
pub(super) fn end_with_the_gate() -> Result<()> {
    let interrupts = os::interrupt::interrupts().context("take interrupts")?;
    let wait = move || {
        if interrupts.recv().is_ok() {
            end();
        }
    };
    thread::Builder::new().name("interrupted".into()).spawn(wait).context("wait for interrupts")?;
    Ok(())
}

#[expect(
    clippy::exit,
    reason = "the gate's other threads wait for compilers and tests; an interrupt waits for none"
)]
fn end() -> ! {
    eprintln!("interrupted: ending the tests and what they left");
    // Never let go of: no other program starts.
    let programs = programs();
    for program in programs.iter() {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&program.process, Signal::KILL);
    }
    for Program { variable, value, .. } in programs.iter() {
        for name in leftovers::end(variable, value, leftovers::PATIENCE) {
            eprintln!("  ended {name}");
        }
    }
    end_below(process::id());
    process::exit(INTERRUPTED)
}

/// Compilers, mostly: they would work on for minutes and hold cargo's lock.
fn end_below(pid: u32) {
    for child in children(pid) {
        let process = i32::try_from(child).ok().and_then(Pid::from_raw);
        // Stopped, it starts no other while we look below it.
        let _ = process.map(|process| kill_process(process, Signal::STOP));
        end_below(child);
        let _ = process.map(|process| kill_process(process, Signal::KILL));
    }
}

fn programs() -> MutexGuard<'static, Vec<Program>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Running ===

impl Running {
    /// Starts a program with a mark that no other has.
    pub(super) fn start(command: &mut Command, variable: &'static str, value: &Path) -> Result<Self> {
        let mut programs = programs();
        let started = command.spawn().with_context(|| format!("start {:?}", command.get_program()));
        let running = Self { child: started?, variable, value: value.to_owned() };
        let process = pidfd_open(Pid::from_child(&running.child), PidfdFlags::empty());
        let process = process.context("open the program that was just started")?;
        programs.push(Program { process, variable, value: running.value.clone() });
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        programs().retain(|program| (program.variable, &program.value) != (self.variable, &self.value));
    }
}
