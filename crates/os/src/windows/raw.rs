//! The console that we were started in, without its own ideas of lines, echo and Ctrl-C; it understands and sends the
//! sequences of terminals.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::System::Console::{
    CONSOLE_MODE, ENABLE_PROCESSED_OUTPUT, ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING,
    GetConsoleMode, SetConsoleMode,
};

use super::handle::check;

/// Until dropped; then it is as it was.
#[derive(Debug)]
pub(crate) struct Raw {
    input: Mode,
    output: Mode,
}

/// How one side of a console is, and was.
#[derive(Debug)]
pub(super) struct Mode {
    side: File,
    pub(super) before: CONSOLE_MODE,
}

// === impl Raw ===

impl Raw {
    pub(crate) fn enter() -> io::Result<Self> {
        let (input, output) = super::terminal::open()?;
        let raw = Self { input: Mode::of(input)?, output: Mode::of(output)? };
        // Consoles from before Windows 10 know no sequences: arrow keys do nothing there, all else works.
        raw.input.set(ENABLE_VIRTUAL_TERMINAL_INPUT).or_else(|_| raw.input.set(0))?;
        let wanted = raw.output.before | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
        drop(raw.output.set(wanted));
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        for side in [&self.input, &self.output] {
            // A console that is gone needs nothing back.
            drop(side.set(side.before));
        }
    }
}

// === impl Mode ===

impl Mode {
    /// An error if it is no console's.
    pub(super) fn of(side: File) -> io::Result<Self> {
        let mut before = 0;
        // SAFETY: the handle is open, and the answer goes to a local.
        check(unsafe { GetConsoleMode(side.as_raw_handle(), &raw mut before) })?;
        Ok(Self { side, before })
    }

    pub(super) fn set(&self, mode: CONSOLE_MODE) -> io::Result<()> {
        // SAFETY: the handle is open.
        check(unsafe { SetConsoleMode(self.side.as_raw_handle(), mode) })
    }
}
