//! The terminal that we were started at, without its own ideas of lines, echo and Ctrl-C.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Until dropped; then it is as it was.
pub(crate) struct Raw {
    terminal: File,
    before: libc::termios,
}

// === impl Raw ===

impl Raw {
    pub(crate) fn enter() -> io::Result<Self> {
        let (terminal, _) = super::terminal::open()?;
        // SAFETY: all zeroes is a valid value, and the kernel fills in the structure.
        let before = unsafe {
            let mut found: libc::termios = std::mem::zeroed();
            check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut found))?;
            found
        };
        let mut raw = before;
        // SAFETY: the structures outlive the calls.
        unsafe {
            libc::cfmakeraw(&raw mut raw);
            check(libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &raw const raw))?;
        }
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the terminal is open and the structure outlives the call. A terminal that is gone needs nothing back.
        unsafe { libc::tcsetattr(self.terminal.as_raw_fd(), libc::TCSANOW, &raw const self.before) };
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw").field("terminal", &self.terminal).finish_non_exhaustive()
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
