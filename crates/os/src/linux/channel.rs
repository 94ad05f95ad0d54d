//! Unix sockets that only root and our own account can talk through.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::channel::Endpoint;

#[derive(Debug)]
pub(crate) struct Listener(pub(super) UnixListener);

#[derive(Debug)]
pub(crate) struct Connection(UnixStream);

/// What fits into a socket address, its closing null not counted.
const PATH_MAX: usize = 107;

pub(crate) fn remove_leftover(endpoint: &Endpoint) -> io::Result<()> {
    match std::fs::remove_file(endpoint.as_path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

pub(crate) fn endpoint(run_dir: &Path, name: &str) -> PathBuf {
    run_dir.join(format!("{name}.sock"))
}

/// A path short enough for a socket address: long ones go through an open directory, kept while the name is used.
struct Address {
    path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl Address {
    fn of(endpoint: &Endpoint) -> io::Result<Self> {
        let path = endpoint.as_path();
        if path.as_os_str().len() <= PATH_MAX {
            return Ok(Self { path: path.to_owned(), _directory: None });
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(CWD, parent, flags, Mode::empty())?;
        let short = Path::new("/proc/self/fd").join(directory.as_raw_fd().to_string()).join(name);
        Ok(Self { path: short, _directory: Some(directory) })
    }
}

// === impl Listener ===

impl Listener {
    pub(crate) fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        let address = Address::of(endpoint)?;
        match listen(&address.path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(&address.path) => {
                std::fs::remove_file(&address.path)?;
                listen(&address.path).map(Self)
            }
            other => other.map(Self),
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Connection> {
        loop {
            let (stream, _) = self.0.accept()?;
            if is_welcome(&stream)? {
                return Ok(Connection(stream));
            }
        }
    }
}

/// The socket's own mode becomes the file's, so it is never open to others, not even between two calls.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, 128)?;
    Ok(UnixListener::from(socket))
}

/// A file that refuses connections belongs to a dead process; one that is no socket at all is not ours to remove.
fn is_stale(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    is_socket
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

pub(super) fn is_welcome(stream: impl AsFd) -> io::Result<bool> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

// === impl Connection ===

impl Connection {
    pub(crate) fn connect(endpoint: &Endpoint) -> io::Result<Self> {
        let address = Address::of(endpoint)?;
        UnixStream::connect(&address.path).map(Self)
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        match self.0.shutdown(std::net::Shutdown::Both) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            other => other,
        }
    }

    /// Both directions are closed; what was sent before may still wait to be read.
    pub(crate) fn is_hung_up(&self) -> bool {
        let mut here = [PollFd::new(&self.0, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupted look is made again by whoever asks again.
        poll(&mut here, Some(&now)).is_ok() && here[0].revents().contains(PollFlags::HUP)
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout)
    }

    /// The kernel says "would block" for a timeout, which callers take for a non-blocking socket.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.0).read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
            other => other,
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.0).write(bytes)
    }
}
