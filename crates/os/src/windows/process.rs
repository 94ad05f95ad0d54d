//! A started process, held by its handle.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::Arc;
use std::time::Duration;

use windows_sys::Win32::System::JobObjects::TerminateJobObject;
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, OpenProcess, PROCESS_ACCESS_RIGHTS, PROCESS_CREATE_THREAD, PROCESS_QUERY_INFORMATION,
    PROCESS_SYNCHRONIZE, PROCESS_VM_OPERATION, PROCESS_VM_READ, PROCESS_VM_WRITE, TerminateProcess,
};

use super::console::{self, Event};
use super::handle::{check, owned, wait};
use super::pseudo_console::PseudoConsole;
use crate::process::Exit;
use crate::terminal::Size;

/// What a killed process leaves, as on Linux.
const KILLED: u32 = 137;

#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    handle: OwnedHandle,
    console: Option<Arc<PseudoConsole>>,
    /// A job inside the job, of this process and all it starts.
    kin: Option<OwnedHandle>,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    process: OwnedHandle,
    console: Option<Arc<PseudoConsole>>,
}

pub(crate) fn open(pid: u32, rights: PROCESS_ACCESS_RIGHTS) -> io::Result<OwnedHandle> {
    // SAFETY: plain numbers; the handle is not inheritable.
    owned(unsafe { OpenProcess(rights, 0, pid) })
}

pub(crate) fn is_running(pid: u32) -> bool {
    open(pid, PROCESS_SYNCHRONIZE)
        .and_then(|process| wait(&process, Some(Duration::ZERO)))
        .is_ok_and(|ended| !ended)
}

/// Windows forgets children by itself.
pub(crate) fn forget_children() -> io::Result<()> {
    Ok(())
}

pub(crate) fn send_interrupt(pid: u32) -> io::Result<()> {
    let rights = PROCESS_CREATE_THREAD
        | PROCESS_QUERY_INFORMATION
        | PROCESS_VM_OPERATION
        | PROCESS_VM_READ
        | PROCESS_VM_WRITE
        | PROCESS_SYNCHRONIZE;
    console::send(&open(pid, rights)?, Event::CtrlC)
}

// === impl Process ===

impl Process {
    pub(crate) fn new(pid: u32, handle: OwnedHandle, kin: Option<OwnedHandle>) -> Self {
        Self { pid, handle, console: None, kin }
    }

    pub(crate) fn at(self, console: PseudoConsole) -> Self {
        Self { console: Some(Arc::new(console)), ..self }
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    pub(crate) fn waiter(&self) -> io::Result<Waiter> {
        Ok(Waiter { process: self.handle.try_clone()?, console: self.console.clone() })
    }

    /// Windows keeps no record of who started whom, but a process cannot leave the job that it was born into.
    pub(crate) fn kill_session(&self, _candidates: impl Fn() -> io::Result<Vec<u32>>) -> io::Result<()> {
        let Some(kin) = &self.kin else { return self.kill() };
        // SAFETY: the handle is ours.
        check(unsafe { TerminateJobObject(kin.as_raw_handle(), KILLED) })
    }

    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        let console = self.console.as_ref();
        let none = || io::Error::new(io::ErrorKind::Unsupported, "the process has no terminal");
        console.ok_or_else(none)?.resize(size)
    }

    fn has_ended(&self) -> io::Result<bool> {
        wait(&self.handle, Some(Duration::ZERO))
    }

    pub(crate) fn request_stop(&self) -> io::Result<()> {
        if self.has_ended()? {
            return Ok(());
        }
        console::send(&self.handle, Event::Shutdown).or_else(|error| self.fine_if_ended(error))
    }

    pub(crate) fn kill(&self) -> io::Result<()> {
        // SAFETY: the handle is ours.
        check(unsafe { TerminateProcess(self.handle.as_raw_handle(), KILLED) })
            .or_else(|error| self.fine_if_ended(error))
    }

    /// A process that ended between two calls did what was wanted.
    fn fine_if_ended(&self, error: io::Error) -> io::Result<()> {
        if self.has_ended()? { Ok(()) } else { Err(error) }
    }
}

// === impl Waiter ===

impl Waiter {
    pub(crate) fn wait(self) -> io::Result<Exit> {
        wait(&self.process, None)?;
        // The terminal's reader would wait for ever: the console host does not end with the program.
        if let Some(console) = &self.console {
            console.close();
        }
        let mut code = 0;
        // SAFETY: the handle is ours and the code goes to a local.
        check(unsafe { GetExitCodeProcess(self.process.as_raw_handle(), &raw mut code) })?;
        Ok(Exit { code, signal: None })
    }
}

/// Windows trims the working set of a waiting process by itself.
pub(crate) fn rest() {}
