//! A started process, held by its handle.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::time::Duration;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, GetProcessTimes, OpenProcess, PROCESS_ACCESS_RIGHTS, PROCESS_CREATE_THREAD,
    PROCESS_QUERY_INFORMATION, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, PROCESS_VM_OPERATION,
    PROCESS_VM_READ, PROCESS_VM_WRITE, TerminateProcess,
};

use super::console::{self, Event};
use super::handle::{check, owned, wait};
use crate::process::Exit;
use crate::terminal::Size;

/// What a killed process leaves, as on Linux.
const KILLED: u32 = 137;

#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    handle: OwnedHandle,
}

#[derive(Debug)]
pub(crate) struct Waiter(OwnedHandle);

/// Sums over processes.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) kernel_ns: u64,
    pub(crate) memory_bytes: u64,
}

fn open(pid: u32, rights: PROCESS_ACCESS_RIGHTS) -> io::Result<OwnedHandle> {
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

/// What these processes use; one that has just ended counts as nothing.
pub(crate) fn usage(pids: &[u32]) -> Usage {
    let mut sum = Usage::default();
    for process in
        pids.iter().filter_map(|pid| open(*pid, PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_VM_READ).ok())
    {
        let (user, kernel) = times(&process).unwrap_or_default();
        sum.user_ns += user;
        sum.kernel_ns += kernel;
        sum.memory_bytes += working_set(&process).unwrap_or_default();
    }
    sum
}

fn times(process: &OwnedHandle) -> io::Result<(u64, u64)> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let handle = process.as_raw_handle();
    // SAFETY: the handle is open and all results go to locals.
    check(unsafe {
        GetProcessTimes(handle, &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user)
    })?;
    Ok((nanos(user), nanos(kernel)))
}

fn nanos(time: FILETIME) -> u64 {
    ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)) * 100
}

fn working_set(process: &OwnedHandle) -> io::Result<u64> {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = super::handle::size_of::<PROCESS_MEMORY_COUNTERS>();
    // SAFETY: the structure is as large as we say.
    check(unsafe { K32GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, size) })?;
    Ok(counters.WorkingSetSize as u64)
}

// === impl Process ===

impl Process {
    pub(crate) fn new(pid: u32, handle: OwnedHandle) -> Self {
        Self { pid, handle }
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    pub(crate) fn waiter(&self) -> io::Result<Waiter> {
        self.handle.try_clone().map(Waiter)
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

    /// Windows keeps no record of who started whom: it is this one alone.
    pub(crate) fn kill_session(&self, _candidates: impl Fn() -> io::Result<Vec<u32>>) -> io::Result<()> {
        self.kill()
    }

    pub(crate) fn resize(&self, _size: Size) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "no terminals here yet"))
    }

    /// A process that ended between two calls did what was wanted.
    fn fine_if_ended(&self, error: io::Error) -> io::Result<()> {
        if self.has_ended()? { Ok(()) } else { Err(error) }
    }
}

// === impl Waiter ===

impl Waiter {
    pub(crate) fn wait(self) -> io::Result<Exit> {
        wait(&self.0, None)?;
        let mut code = 0;
        // SAFETY: the handle is ours and the code goes to a local.
        check(unsafe { GetExitCodeProcess(self.0.as_raw_handle(), &raw mut code) })?;
        Ok(Exit { code, signal: None })
    }
}

/// Windows trims the working set of a waiting process by itself.
pub(crate) fn rest() {}
