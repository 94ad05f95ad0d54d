//! Console control events as messages.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use windows_sys::Win32::System::Console::{CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::core::BOOL;

use super::handle::check;
use crate::interrupt::Interrupt;

static SENDER: OnceLock<Sender<Interrupt>> = OnceLock::new();

/// Runs on a thread of the system's. After a close, log-off or shutdown event the process is ended as soon as this
/// returns, so it does not: the program ends when it has tidied up, or the system's patience does.
unsafe extern "system" fn on_event(event: u32) -> BOOL {
    let interrupt = if event == CTRL_C_EVENT { Interrupt::CtrlC } else { Interrupt::Terminate };
    let heard = SENDER.get().is_some_and(|sender| sender.send(interrupt).is_ok());
    if heard && interrupt == Interrupt::Terminate {
        loop {
            std::thread::park();
        }
    }
    BOOL::from(heard)
}

pub(crate) fn interrupts() -> io::Result<Receiver<Interrupt>> {
    // SAFETY: no handler, only a flag: a process started in its own group ignores Ctrl-C until this is undone.
    check(unsafe { SetConsoleCtrlHandler(None, 0) })?;
    interrupts_as_started()
}

pub(crate) fn interrupts_as_started() -> io::Result<Receiver<Interrupt>> {
    let (sender, receiver) = channel();
    SENDER
        .set(sender)
        .map_err(|_| io::Error::new(io::ErrorKind::AlreadyExists, "interrupts are taken already"))?;
    // SAFETY: our handler is a function and lives for ever.
    check(unsafe { SetConsoleCtrlHandler(Some(on_event), 1) })?;
    Ok(receiver)
}
