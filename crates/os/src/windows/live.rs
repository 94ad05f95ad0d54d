//! A console obeys the sequences of terminals only when it is told to, and then whoever writes there next has it so:
//! what we turn on we turn off again.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::windows::io::AsHandle;

use windows_sys::Win32::System::Console::{ENABLE_PROCESSED_OUTPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING};

use super::raw::Mode;

/// Until dropped; then it is as it was.
#[derive(Debug)]
pub(crate) struct Live(Option<Mode>);

// === impl Live ===

impl Live {
    pub(crate) fn enter() -> Option<Self> {
        let output = io::stdout();
        if !output.is_terminal() {
            return None;
        }
        let output = File::from(output.as_handle().try_clone_to_owned().ok()?);
        // A terminal that is no console is one of MSYS or Cygwin: those obey without being told.
        let Ok(console) = Mode::of(output) else { return Some(Self(None)) };
        // Consoles from before Windows 10 refuse.
        console.set(console.before | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING).ok()?;
        Some(Self(Some(console)))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A console that is gone needs nothing back.
        drop(self.0.as_ref().map(|console| console.set(console.before)));
    }
}
