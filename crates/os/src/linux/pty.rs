//! Pseudo-terminals: we hold the one end, a process has the other as its stdio.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::process::Process;
use super::spawn::above_stdio;
use crate::process::Child;
use crate::terminal::Size;

/// Ctrl-D.
pub(crate) const END_OF_INPUT: &[u8] = b"\x04";

/// Our end, kept to change the size.
#[derive(Debug)]
pub(crate) struct Terminal(File);

/// Both ends of a new pseudo-terminal.
#[derive(Debug)]
pub(crate) struct Pty {
    pub(crate) ours: File,
    /// The process's end; above 2 and closed on exec.
    pub(crate) theirs: OwnedFd,
}

/// Once nobody has the other end, our end says "input/output error".
pub(crate) fn is_hangup(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

pub(crate) fn open() -> io::Result<(File, File)> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    Ok((terminal.try_clone()?, terminal))
}

pub(crate) fn size() -> io::Result<Size> {
    let (terminal, mut size) =
        (open()?.0, libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 });
    // SAFETY: the kernel writes one structure that outlives the call.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) })?;
    Ok(Size { columns: size.ws_col, rows: size.ws_row })
}

// === impl Pty ===

impl Pty {
    pub(crate) fn open(size: Size) -> io::Result<Self> {
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        // SAFETY: a plain number; the descriptor that comes back is nobody else's.
        let ours = unsafe { owned(libc::posix_openpt(flags)) }?;
        let unlocked: c_int = 0;
        // SAFETY: the kernel reads one number that outlives the call.
        check(unsafe { libc::ioctl(ours.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked) })?;
        // Asked for by our end and not by its name, which a container may have covered.
        // SAFETY: a plain number; the descriptor that comes back is nobody else's.
        let theirs = unsafe { owned(libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags)) }?;
        let ours = File::from(above_stdio(ours)?);
        set_size(&ours, size)?;
        Ok(Self { ours, theirs: above_stdio(theirs)? })
    }

    /// The parent's view of the process at the other end, which is closed here: the end of the last one is ours to see.
    pub(crate) fn child(self, stdin: bool, process: Process) -> io::Result<Child> {
        let input = if stdin { Some(self.ours.try_clone()?) } else { None };
        let terminal = Terminal(self.ours.try_clone()?);
        Ok(Child { stdin: input, stdout: Some(self.ours), stderr: None, process: process.at(Some(terminal)) })
    }
}

// === impl Terminal ===

impl Terminal {
    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        set_size(&self.0, size)
    }
}

fn set_size(terminal: &File, size: Size) -> io::Result<()> {
    let size = libc::winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel reads one structure that outlives the call.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) })
}

/// # Safety
/// A number that is not negative is a descriptor that nobody else owns.
unsafe fn owned(fd: c_int) -> io::Result<OwnedFd> {
    check(fd.min(0))?;
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
