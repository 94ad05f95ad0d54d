//! One end of a named pipe that a reading and a writing thread use at once.
//!
//! A plain pipe handle lets a write wait behind a read for ever. So handles are overlapped and each operation has an
//! event of its own; a second event, shared by all, wakes everybody when the connection is shut down.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_IO_PENDING, ERROR_NO_DATA, ERROR_OPERATION_ABORTED,
    ERROR_PIPE_NOT_CONNECTED, HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::{SetEvent, WaitForMultipleObjects};
use windows_sys::core::BOOL;

use super::handle::{check, code, event, millis};

#[derive(Debug)]
pub(crate) struct Pipe {
    /// `None` after shutdown; operations hold the lock while they wait, so closing waits for them.
    handle: RwLock<Option<OwnedHandle>>,
    closing: OwnedHandle,
    read_timeout: Mutex<Option<Duration>>,
}

/// Why waiting for an operation ended.
enum Woken {
    Done,
    Closing,
    Late,
}

impl Pipe {
    pub(crate) fn new(handle: OwnedHandle) -> io::Result<Self> {
        Ok(Self { handle: RwLock::new(Some(handle)), closing: event()?, read_timeout: Mutex::new(None) })
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) {
        *self.read_timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// 0 is the end: the peer has gone, or we have hung up.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = *self.read_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, length) = (buffer.as_mut_ptr(), clamped(buffer.len()));
        loop {
            // SAFETY: the buffer outlives the operation, because `operate` returns only when it is over.
            let read = self.operate(timeout, |handle, overlapped| unsafe {
                ReadFile(handle, at, length, std::ptr::null_mut(), overlapped)
            });
            match read {
                // An empty write of the peer's is no end.
                Ok(0) if length > 0 => {}
                Err(error) if is_end(&error) => return Ok(0),
                other => return other,
            }
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let (at, length) = (bytes.as_ptr(), clamped(bytes.len()));
        // SAFETY: the bytes outlive the operation, because `operate` returns only when it is over.
        let written = self.operate(None, |handle, overlapped| unsafe {
            WriteFile(handle, at, length, std::ptr::null_mut(), overlapped)
        });
        written.map_err(|error| if is_end(&error) { io::ErrorKind::BrokenPipe.into() } else { error })
    }

    /// Asked without reading. A peer that went away while something of its waits to be read does not show.
    pub(crate) fn is_hung_up(&self) -> bool {
        let guard = self.handle.read().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = guard.as_ref() else { return true };
        // SAFETY: the handle is open while we hold the lock, and nothing is asked for but the state of the pipe.
        let looked = check(unsafe {
            PeekNamedPipe(handle.as_raw_handle(), null_mut(), 0, null_mut(), null_mut(), null_mut())
        });
        looked.is_err_and(|error| is_end(&error))
    }

    /// Wakes everybody who waits, then closes: what was written stays readable for the peer.
    pub(crate) fn shutdown(&self) -> io::Result<()> {
        // SAFETY: the event is ours.
        check(unsafe { SetEvent(self.closing.as_raw_handle()) })?;
        drop(self.handle.write().unwrap_or_else(PoisonError::into_inner).take());
        Ok(())
    }

    fn operate(
        &self,
        timeout: Option<Duration>,
        start: impl FnOnce(HANDLE, *mut OVERLAPPED) -> BOOL,
    ) -> io::Result<usize> {
        let guard = self.handle.read().unwrap_or_else(PoisonError::into_inner);
        let handle = guard.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        overlapped(handle, Some(&self.closing), timeout, start)
    }
}

/// Runs one overlapped operation to its end or cancels it; how many bytes it moved.
pub(crate) fn overlapped(
    handle: &OwnedHandle,
    closing: Option<&OwnedHandle>,
    timeout: Option<Duration>,
    start: impl FnOnce(HANDLE, *mut OVERLAPPED) -> BOOL,
) -> io::Result<usize> {
    let done = event()?;
    let mut operation = OVERLAPPED { hEvent: done.as_raw_handle(), ..OVERLAPPED::default() };
    if start(handle.as_raw_handle(), &raw mut operation) == 0 {
        let error = io::Error::last_os_error();
        if code(&error) != ERROR_IO_PENDING {
            return Err(error);
        }
    }
    let woken = wait_for(&done, closing, timeout);
    if !matches!(woken, Ok(Woken::Done)) {
        // SAFETY: the operation is still in memory; whether it was cancelled or done, the result below waits for it.
        unsafe { CancelIoEx(handle.as_raw_handle(), &raw const operation) };
    }
    let mut moved = 0;
    // SAFETY: waits until the kernel is done with the operation, so neither it nor the buffer is left behind.
    let result = check(unsafe {
        GetOverlappedResult(handle.as_raw_handle(), &raw const operation, &raw mut moved, 1)
    });
    match (result, woken?) {
        (Ok(()), _) => Ok(moved as usize),
        (Err(error), Woken::Late) if code(&error) == ERROR_OPERATION_ABORTED => {
            Err(io::ErrorKind::TimedOut.into())
        }
        (Err(_), Woken::Closing) => Err(io::ErrorKind::BrokenPipe.into()),
        (Err(error), _) => Err(error),
    }
}

fn wait_for(
    done: &OwnedHandle,
    closing: Option<&OwnedHandle>,
    timeout: Option<Duration>,
) -> io::Result<Woken> {
    let both = [done.as_raw_handle(), closing.unwrap_or(done).as_raw_handle()];
    let count = if closing.is_some() { 2 } else { 1 };
    // SAFETY: the handles are open for the whole call.
    match unsafe { WaitForMultipleObjects(count, both.as_ptr(), 0, millis(timeout)) } {
        WAIT_OBJECT_0 => Ok(Woken::Done),
        WAIT_TIMEOUT => Ok(Woken::Late),
        other if other == WAIT_OBJECT_0 + 1 => Ok(Woken::Closing),
        _ => Err(io::Error::last_os_error()),
    }
}

fn is_end(error: &io::Error) -> bool {
    let ends = [ERROR_BROKEN_PIPE, ERROR_PIPE_NOT_CONNECTED, ERROR_NO_DATA, ERROR_HANDLE_EOF];
    ends.contains(&code(error)) || error.kind() == io::ErrorKind::BrokenPipe
}

fn clamped(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
