//! Reading from a pipe until it ends or somebody cancels the read.
//!
//! Anonymous pipes know no overlapped reads, so a reader that waits is woken by cancelling what its thread does.

use std::fs::File;
use std::io::{self, Read};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{DUPLICATE_SAME_ACCESS, DuplicateHandle, ERROR_OPERATION_ABORTED};
use windows_sys::Win32::System::IO::CancelSynchronousIo;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetCurrentThread};

use super::handle::{check, code, owned};

/// How long a reader may take to notice; a read that was just about to begin is cancelled at the second try.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Tap {
    file: File,
    readers: Arc<Readers>,
}

#[derive(Debug)]
pub(crate) struct Closer(Arc<Readers>);

#[derive(Debug, Default)]
struct Readers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    closed: bool,
    /// The threads that wait in a read, each by the pipe it reads from.
    reading: Vec<(usize, OwnedHandle)>,
}

#[cfg(test)]
pub(crate) fn into_file(end: OwnedHandle) -> File {
    File::from(end)
}

// === impl Closer ===

impl Closer {
    #[expect(clippy::unnecessary_wraps, reason = "Linux needs a descriptor for it")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::default()))
    }

    pub(crate) fn tap(&self, file: File) -> Tap {
        Tap { file, readers: self.0.clone() }
    }

    pub(crate) fn close(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut state = self.0.state();
            state.closed = true;
            for (_, thread) in &state.reading {
                // SAFETY: the handle is open. A thread that is between two reads has nothing to cancel.
                unsafe { CancelSynchronousIo(thread.as_raw_handle()) };
            }
            if state.reading.is_empty() || Instant::now() > deadline {
                return;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

// === impl Readers ===

impl Readers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Tap ===

impl Tap {
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let place = self.file.as_raw_handle().addr();
        let thread = this_thread()?;
        {
            let mut state = self.readers.state();
            if state.closed {
                return Ok(0);
            }
            state.reading.push((place, thread));
        }
        let read = self.file.read(buffer);
        let mut state = self.readers.state();
        state.reading.retain(|(reading, _)| *reading != place);
        match read {
            Err(error) if state.closed && code(&error) == ERROR_OPERATION_ABORTED => Ok(0),
            other => other,
        }
    }
}

fn this_thread() -> io::Result<OwnedHandle> {
    let mut handle = std::ptr::null_mut();
    // SAFETY: pseudo handles of this process and thread; the real one goes to a local.
    check(unsafe {
        let process = GetCurrentProcess();
        let (thread, to) = (GetCurrentThread(), &raw mut handle);
        DuplicateHandle(process, thread, process, to, 0, 0, DUPLICATE_SAME_ACCESS)
    })?;
    owned(handle)
}
