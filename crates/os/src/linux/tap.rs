//! Reading from a pipe until it ends or an event says so.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;

#[derive(Debug)]
pub(crate) struct Tap {
    file: File,
    closed: Arc<OwnedFd>,
}

#[derive(Debug)]
pub(crate) struct Closer(Arc<OwnedFd>);

#[cfg(test)]
pub(crate) fn into_file(end: OwnedFd) -> File {
    File::from(end)
}

// === impl Closer ===

impl Closer {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?)))
    }

    pub(crate) fn tap(&self, file: File) -> Tap {
        Tap { file, closed: self.0.clone() }
    }

    pub(crate) fn close(&self) {
        // The event is never reset and never read, so it cannot be full.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

// === impl Tap ===

impl Tap {
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut both = [PollFd::new(&self.file, PollFlags::IN), PollFd::new(&*self.closed, PollFlags::IN)];
        while let Err(error) = poll(&mut both, None) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        // What is there already is read first: only waiting for more is what a close ends.
        if both[0].revents().is_empty() {
            return Ok(0);
        }
        self.file.read(buffer)
    }
}
