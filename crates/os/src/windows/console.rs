//! Console events for one process that need not share our console: a thread of its own runs the routine that the
//! console would have run.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::System::Console::{CTRL_C_EVENT, CTRL_SHUTDOWN_EVENT};
use windows_sys::Win32::System::Threading::{CreateRemoteThread, IsWow64Process, LPTHREAD_START_ROUTINE};

use super::handle::{check, owned};
use super::library::Library;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    CtrlC,
    Shutdown,
}

/// Runs the process's own handlers for the event. The routine is at the same address in every 64-bit process of one
/// boot; a 32-bit one has another and is refused rather than crashed.
pub(crate) fn send(process: &OwnedHandle, event: Event) -> io::Result<()> {
    let mut emulated = 0;
    // SAFETY: the handle is open and the answer goes to a local.
    check(unsafe { IsWow64Process(process.as_raw_handle(), &raw mut emulated) })?;
    if emulated != 0 {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "a 32-bit program cannot be sent console events",
        ));
    }
    let number = match event {
        Event::CtrlC => CTRL_C_EVENT,
        Event::Shutdown => CTRL_SHUTDOWN_EVENT,
    };
    let parameter = std::ptr::without_provenance(number as usize);
    // SAFETY: the routine takes the event's number as its parameter and follows the thread calling convention.
    owned(unsafe {
        CreateRemoteThread(process.as_raw_handle(), null(), 0, routine()?, parameter, 0, null_mut())
    })
    .map(drop)
}

fn routine() -> io::Result<LPTHREAD_START_ROUTINE> {
    let kernel = Library::open("kernel32.dll")?;
    let address = kernel.function("CtrlRoutine").ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: kernel32 is never unloaded, and the routine has exactly this signature.
    Ok(unsafe { std::mem::transmute::<*const std::ffi::c_void, LPTHREAD_START_ROUTINE>(address) })
}
