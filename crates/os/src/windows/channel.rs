//! Named pipes that only administrators, the system and our own account can open.

use std::io;
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_NO_DATA, ERROR_PIPE_BUSY, ERROR_PIPE_CONNECTED, ERROR_SEM_TIMEOUT,
    GENERIC_READ, GENERIC_WRITE,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, OPEN_EXISTING, PIPE_ACCESS_DUPLEX,
    SECURITY_IDENTIFICATION, SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_BYTE,
    PIPE_UNLIMITED_INSTANCES, PIPE_WAIT, WaitNamedPipeW,
};

use super::handle::{code, owned};
use super::pipe::{Pipe, overlapped};
use super::security::{self, Descriptor};
use super::text::wide;
use crate::channel::Endpoint;

const BUFFER: u32 = 64 * 1024;
/// How long a client waits for a server that is busy with another one.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Listener {
    name: Vec<u16>,
    descriptor: Descriptor,
    /// The instance that the next client will find.
    next: Mutex<OwnedHandle>,
}

#[derive(Debug, Clone)]
pub(crate) struct Connection(Arc<Pipe>);

/// A pipe's name goes with its last handle.
pub(crate) fn remove_leftover(_endpoint: &Endpoint) -> io::Result<()> {
    Ok(())
}

/// Only an administrator can make pipes under the protected prefix, so nobody else can sit there before us.
pub(crate) fn endpoint(run_dir: &Path, name: &str) -> PathBuf {
    let prefix = if security::elevated() { r"ProtectedPrefix\Administrators\" } else { "" };
    PathBuf::from(format!(r"\\.\pipe\{prefix}porthole-{:016x}-{name}", place(run_dir)))
}

/// A number for the run directory (FNV-1a), the same for every spelling of its path.
fn place(run_dir: &Path) -> u64 {
    let text = run_dir.to_string_lossy().replace('/', "\\").to_lowercase();
    let text = text.trim_end_matches('\\');
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

// === impl Listener ===

impl Listener {
    pub(crate) fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let text = security::private_to_us("", "GA", !security::elevated())?;
        let descriptor = Descriptor::from_text(&text)?;
        let name = wide(endpoint.as_path())?;
        let taken = || io::Error::new(io::ErrorKind::AddrInUse, format!("{endpoint} is served already"));
        if is_served(&name) {
            return Err(taken());
        }
        match instance(&name, &descriptor, FILE_FLAG_FIRST_PIPE_INSTANCE) {
            // The system's word for "there is one already".
            Err(error) if code(&error) == ERROR_ACCESS_DENIED => Err(taken()),
            other => Ok(Self { name, descriptor, next: Mutex::new(other?) }),
        }
    }

    /// For those who wait for clients in another way: the name, who may come, and the instance the first one finds.
    #[cfg(feature = "async")]
    pub(super) fn into_parts(self) -> (Vec<u16>, Descriptor, OwnedHandle) {
        (self.name, self.descriptor, self.next.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn accept(&self) -> io::Result<Connection> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let came = wait_for_client(&next);
            // The next client must find an instance before this one is served.
            let served = std::mem::replace(&mut *next, instance(&self.name, &self.descriptor, 0)?);
            match came {
                Ok(()) => return Ok(Connection(Arc::new(Pipe::new(served)?))),
                Err(error) if code(&error) == ERROR_NO_DATA => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first-instance flag decides on Windows; Wine ignores it and would let two servers share a name.
fn is_served(name: &[u16]) -> bool {
    // SAFETY: a null-ended name.
    let found = super::handle::check(unsafe { WaitNamedPipeW(name.as_ptr(), 1) });
    found.map_or_else(|error| code(&error) == ERROR_SEM_TIMEOUT, |()| true)
}

pub(super) fn instance(name: &[u16], descriptor: &Descriptor, flags: u32) -> io::Result<OwnedHandle> {
    let attributes = descriptor.attributes();
    let open = PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | flags;
    let mode = PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS;
    // SAFETY: the name ends with a null; the attributes and their descriptor outlive the call.
    owned(unsafe {
        let (name, all) = (name.as_ptr(), PIPE_UNLIMITED_INSTANCES);
        CreateNamedPipeW(name, open, mode, all, BUFFER, BUFFER, 0, &raw const attributes)
    })
}

fn wait_for_client(instance: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the operation is over when `overlapped` returns.
    let came =
        overlapped(instance, None, None, |handle, operation| unsafe { ConnectNamedPipe(handle, operation) });
    match came {
        Err(error) if code(&error) == ERROR_PIPE_CONNECTED => Ok(()),
        other => other.map(drop),
    }
}

// === impl Connection ===

impl Connection {
    pub(crate) fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        let name = wide(endpoint.as_path())?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match open(&name) {
                Err(error) if code(&error) == ERROR_PIPE_BUSY && Instant::now() < deadline => {
                    // SAFETY: a null-ended name; whatever the answer, opening is tried again.
                    unsafe { WaitNamedPipeW(name.as_ptr(), 100) };
                }
                other => return Ok(Self(Arc::new(Pipe::new(other?)?))),
            }
        }
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        self.0.shutdown()
    }

    pub(crate) fn is_hung_up(&self) -> bool {
        self.0.is_hung_up()
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout);
        Ok(())
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
}

/// A server may learn who we are, and must not be able to act as us.
fn open(name: &[u16]) -> io::Result<OwnedHandle> {
    let flags = FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
    let access = GENERIC_READ | GENERIC_WRITE;
    // SAFETY: a null-ended name, default security, no template.
    owned(unsafe {
        CreateFileW(name.as_ptr(), access, 0, std::ptr::null(), OPEN_EXISTING, flags, null_mut())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_directory_has_one_name_however_it_is_written() {
        assert_eq!(place(Path::new(r"C:\Porthole\run")), place(Path::new("c:/porthole/RUN/")));
        assert_ne!(place(Path::new(r"C:\Porthole\run")), place(Path::new(r"C:\Other\run")));
    }
}
