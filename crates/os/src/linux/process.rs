//! A started process, held by its pidfd: a signal can never hit a stranger that got the same number.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{self, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::pty::Terminal;
use crate::process::Exit;
use crate::terminal::Size;

#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    pidfd: OwnedFd,
    /// Where our init says how the program ended; without an init the kernel says it.
    status: Option<File>,
    terminal: Option<Terminal>,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pidfd: OwnedFd,
    status: Option<File>,
}

/// A pid as the kernel's calls want it; 0 and negative numbers mean groups there, so they are refused.
pub(crate) fn to_pid(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("not a process id: {pid}")))
}

/// Signals a process by number; one that has ended is no error.
pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    gone_is_fine(process::kill_process(to_pid(pid)?, signal))
}

fn gone_is_fine(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::SRCH) => Ok(()),
        other => Ok(other?),
    }
}

pub(crate) fn send_interrupt(pid: u32) -> io::Result<()> {
    Ok(process::kill_process(to_pid(pid)?, Signal::INT)?)
}

pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

pub(crate) fn forget_children() -> io::Result<()> {
    // SAFETY: ignoring a signal runs no code of ours; for SIGCHLD it tells the kernel to reap by itself.
    let before = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

// === impl Process ===

impl Process {
    /// Takes over a child of ours that nobody has waited for yet.
    pub(crate) fn adopt(pid: u32, status: Option<File>) -> io::Result<Self> {
        let pidfd = process::pidfd_open(to_pid(pid)?, PidfdFlags::empty())?;
        Ok(Self { pid, pidfd, status, terminal: None })
    }

    pub(crate) fn at(self, terminal: Option<Terminal>) -> Self {
        Self { terminal, ..self }
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    pub(crate) fn pidfd(&self) -> io::Result<OwnedFd> {
        self.pidfd.try_clone()
    }

    pub(crate) fn waiter(&self) -> io::Result<Waiter> {
        let status = self.status.as_ref().map(File::try_clone).transpose()?;
        Ok(Waiter { pidfd: self.pidfd()?, status })
    }

    pub(crate) fn request_stop(&self) -> io::Result<()> {
        gone_is_fine(process::pidfd_send_signal(&self.pidfd, Signal::TERM))
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        gone_is_fine(process::pidfd_send_signal(&self.pidfd, Signal::KILL))
    }

    pub(crate) fn kill_session(&self, candidates: impl Fn() -> io::Result<Vec<u32>>) -> io::Result<()> {
        super::session::kill(self, candidates)
    }

    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        let none = || io::Error::new(io::ErrorKind::Unsupported, "the process has no terminal");
        self.terminal.as_ref().ok_or_else(none)?.resize(size)
    }
}

// === impl Waiter ===

impl Waiter {
    pub(crate) fn wait(self) -> io::Result<Exit> {
        let seen = loop {
            match process::waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        let seen = seen.ok_or_else(|| io::Error::other("the kernel reported no exit"))?;
        let by_kernel = match seen.terminating_signal() {
            Some(signal) => killed_by(signal),
            None => Exit { code: seen.exit_status().unwrap_or(255).cast_unsigned(), signal: None },
        };
        Ok(self.status.and_then(told_by_init).unwrap_or(by_kernel))
    }
}

fn killed_by(signal: i32) -> Exit {
    Exit { code: 128 + signal.cast_unsigned(), signal: Some(signal) }
}

/// Our init writes the program's raw wait status before it ends; a killed init writes nothing.
fn told_by_init(mut status: File) -> Option<Exit> {
    let mut raw = [0; 4];
    status.read_exact(&mut raw).ok()?;
    let raw = i32::from_ne_bytes(raw);
    if libc::WIFSIGNALED(raw) {
        return Some(killed_by(libc::WTERMSIG(raw)));
    }
    Some(Exit { code: libc::WEXITSTATUS(raw).cast_unsigned(), signal: None })
}

pub(crate) fn rest() {
    super::rest::rest();
}
