//! Owned handles out of Win32 calls, and the calls' many ways of saying no.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    HANDLE, INVALID_HANDLE_VALUE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Threading::{CreateEventW, INFINITE, WaitForSingleObject};
use windows_sys::core::BOOL;

pub(crate) fn check(result: BOOL) -> io::Result<()> {
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The error code of an error that came from Win32.
pub(crate) fn code(error: &io::Error) -> u32 {
    error.raw_os_error().unwrap_or(0).cast_unsigned()
}

pub(crate) fn error(code: u32) -> io::Error {
    io::Error::from_raw_os_error(code.cast_signed())
}

/// Takes over a handle that a call has just returned; both spellings of "none" are the call's failure.
pub(crate) fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the callers pass a fresh handle that nobody else closes.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The size of a structure as the calls want it.
pub(crate) fn size_of<T>() -> u32 {
    u32::try_from(std::mem::size_of::<T>()).unwrap_or(u32::MAX)
}

/// An event that stays signalled once it is.
pub(crate) fn event() -> io::Result<OwnedHandle> {
    // SAFETY: no name, default security.
    owned(unsafe { CreateEventW(null(), 1, 0, null()) })
}

/// Whether the object became signalled in time; `None` waits for ever.
pub(crate) fn wait(handle: &OwnedHandle, timeout: Option<Duration>) -> io::Result<bool> {
    // SAFETY: the handle is open for the whole call.
    match unsafe { WaitForSingleObject(handle.as_raw_handle(), millis(timeout)) } {
        WAIT_OBJECT_0 => Ok(true),
        WAIT_TIMEOUT => Ok(false),
        WAIT_FAILED => Err(io::Error::last_os_error()),
        other => Err(io::Error::other(format!("waiting answered {other:#x}"))),
    }
}

/// A timeout in the calls' unit, rounded up so that a short one does not become none.
pub(crate) fn millis(timeout: Option<Duration>) -> u32 {
    let Some(timeout) = timeout else { return INFINITE };
    u32::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(INFINITE).min(INFINITE - 1)
}
